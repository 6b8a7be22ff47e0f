"""The verbs: each thing that a world can be told or asked, once, as a function of JSON values.

At home the face of ``PetStoreMock`` calls them, at the control door a dispatcher, and a remote world sends them.
"""

from __future__ import annotations

from petstore_mock.verbs import requests as requests
from petstore_mock.verbs import state as state
from petstore_mock.verbs import worlds as worlds
from petstore_mock.verbs.verb import VERBS as VERBS
from petstore_mock.verbs.verb import Verb as Verb
