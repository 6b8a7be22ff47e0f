"""How Sphinx builds the site: ``make docs``."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Final

from sphinx.ext.napoleon import GoogleDocstring

from petstore_mock import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project: Final = "petstore_mock"
author: Final = "The petstore_mock developers"
project_copyright: Final = author
version = release = __version__

extensions: Final = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]

myst_enable_extensions: Final = ["colon_fence", "deflist"]
myst_heading_anchors: Final = 3  # so that a link may name a heading

html_theme: Final = "furo"
html_title: Final = f"petstore_mock {release}"
html_show_sphinx: Final = False
html_static_path: Final = ["_static"]
html_css_files: Final = ["site.css"]

suppress_warnings: Final = [
    "ref.python",  # `date` is a type, and an attribute of a verdict
    "misc.highlighting_failure",  # a block is named by its language, whether or not there are colours for it
]

autodoc_member_order: Final = "bysource"
autodoc_typehints: Final = "signature"
napoleon_numpy_docstring: Final = False

copybutton_exclude: Final = ".linenos, .gp, .go"


# The types of a signature: of others, whose documents a build without a network can't look into, and of ours, in whose
# place something else may be given as the words beside it say. What the words themselves refer to is looked up.
nitpick_ignore_regex: Final = [
    ("py:class", r"(?!petstore_mock\.)\w+\..+"),
    ("py:class", r"petstore_mock(\.\w+){2,}"),
    ("py:class", r"[A-Z]\w+|date|datetime|Callable\[\["),
    ("py:exc", "EvictedError"),  # a PetStoreMockError
]


def _read_property(app: Sphinx, what: str, name: str, obj: object, _options: object, lines: list[str]) -> None:
    """Read a property's words as those of a method: napoleon takes what stands before a colon in them for a type."""
    if what == "property" and isinstance(obj, property):
        lines[:] = GoogleDocstring(inspect.getdoc(obj) or "", app.config, app, "method", name, obj).lines()


# Nobody makes anything else by hand: what the other classes take is for the package's own rooms.
_MADE_BY_HAND: Final = {"petstore_mock.PetStoreMock", "petstore_mock.Behaviour", "petstore_mock.checks.WatchedClient"}


def _leave_out_internal(  # attributes of the package's own rooms
    _app: Sphinx, what: str, name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    if what in {"class", "exception"} and name not in _MADE_BY_HAND and "Args:" in lines:
        begin = lines.index("Args:")
        end = next((at for at in range(begin + 1, len(lines)) if not lines[at].startswith((" ", "\t"))), len(lines))
        del lines[begin:end]
    lines[:] = [line for line in lines if not line.endswith("; internal.")]
    for number, line in enumerate(lines):
        if line == "Attributes:" and not (lines[number + 1 : number + 2] or [""])[0].strip():
            lines[number] = ""


def _show_signature(
    _app: Sphinx, _what: str, name: str, _obj: object, _options: object, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Show the handle that ``inject`` returns in place of the protocol of both."""
    handle = "RemoteHandle" if name.startswith("petstore_mock.RemotePetStore.") else "FaultHandle"
    return signature, result and re.sub(r"[\w.~]*\bHandle\b", handle, result)


def setup(app: Sphinx) -> None:
    """Have the first word and the last, before and after napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _leave_out_internal, priority=400)
    app.connect("autodoc-process-docstring", _read_property, priority=600)
    app.connect("autodoc-process-signature", _show_signature)
