"""The verbs: one function for each command and query of a world. Most arguments and results are JSON values.

``PetStoreMock`` and the control door call these functions. ``RemotePetStore`` sends each call to a control door.
"""

from __future__ import annotations

from petstore_mock.verbs import events as events
from petstore_mock.verbs import requests as requests
from petstore_mock.verbs import state as state
from petstore_mock.verbs import worlds as worlds
from petstore_mock.verbs.verb import VERBS as VERBS
from petstore_mock.verbs.verb import Verb as Verb
