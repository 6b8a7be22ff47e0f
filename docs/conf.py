"""How Sphinx builds the site: ``make docs``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docutils import nodes
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.util import logging

from petstore_mock import __version__
from tests.sentences import PASSAGES
from tools.documents.citations import anchor, citations

if TYPE_CHECKING:
    from collections.abc import Iterator

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
myst_heading_anchors: Final = 3  # links can point to headings

html_theme: Final = "furo"
html_title: Final = f"petstore_mock {release}"
html_show_sphinx: Final = False
smartquotes: Final = False  # messages are shown as programs print them
html_static_path: Final = ["_static"]
html_css_files: Final = ["site.css"]

suppress_warnings: Final = [
    "ref.python",  # `date` is ambiguous: a type, and an attribute of a verdict
    "misc.highlighting_failure",  # a block names its language even if Pygments can't highlight it
]

autodoc_member_order: Final = "bysource"
autodoc_typehints: Final = "signature"
napoleon_numpy_docstring: Final = False

copybutton_exclude: Final = ".linenos, .gp, .go"


# Types in signatures that need no link: those of other packages, whose documents an offline build can't read, and some
# of ours, if the words beside them say which values are allowed. References to functions and methods must resolve.
nitpick_ignore_regex: Final = [
    ("py:class", r"(?!petstore_mock\.)\w+\..+"),
    ("py:class", r"petstore_mock(\.\w+){2,}"),
    ("py:class", r"[A-Z]\w+|date|datetime|Callable\[\["),
    ("py:exc", "EvictedError"),  # a PetStoreMockError
]


def _read_property(app: Sphinx, what: str, name: str, obj: object, _options: object, lines: list[str]) -> None:
    """Read a property's docstring like a method's. Otherwise, napoleon takes the text before a colon for a type."""
    if what == "property" and isinstance(obj, property):
        lines[:] = GoogleDocstring(inspect.getdoc(obj) or "", app.config, app, "method", name, obj).lines()


# Users create objects of only these classes. The parameters of the other classes are internal.
_MADE_BY_HAND: Final = {"petstore_mock.PetStoreMock", "petstore_mock.Behaviour", "petstore_mock.checks.WatchedClient"}


def _leave_out_internal(  # parameters and attributes that only the package uses
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


# Links

_LOG: Final = logging.getLogger(__name__)
_SITE: Final = "https://petstore-mock.readthedocs.io/en/stable/"
_INTERFACE: Final = "reference/interface"
_NO_LINKS: Final = (nodes.literal_block, nodes.reference, nodes.title, nodes.image, nodes.literal, nodes.raw)


def _mark_sentences(page: nodes.document) -> None:
    """Give each sentence of the interface the anchor that citations of it link to."""
    marked: list[str] = []
    for node in list(page.findall(lambda node: isinstance(node, (nodes.row, nodes.paragraph)))):
        parts: list[nodes.Element] = []
        if isinstance(node.parent, nodes.tbody):
            parts = [node]
        elif isinstance(node.parent, (nodes.section, nodes.list_item)) and node.astext() != "Responses:":
            parts = _parted(node)
            node.extend(parts)
        for part in parts:
            part["ids"] += [anchor(passage) for passage in PASSAGES[len(marked) : len(marked) + 1]]
            marked.append(part.astext().replace("\n\n", "; ").rstrip())
    if marked != [passage.text for passage in PASSAGES]:
        _LOG.warning("the page has other sentences than tests/sentences.py", location=_INTERFACE)


def _parted(paragraph: nodes.Element) -> list[nodes.inline]:
    """Split a paragraph into its sentences, like ``tests/sentences.py``."""
    parts = [nodes.inline()]
    for child in list(paragraph.children):
        paragraph.remove(child)
        for piece in re.split(r"(?<=\. )(?=[A-Z])", child) if isinstance(child, nodes.Text) else [child]:
            if parts[-1].astext().endswith(". "):
                parts.append(nodes.inline())
            parts[-1] += nodes.Text(piece) if isinstance(piece, str) else piece
    return parts


def _link_citations(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link each § to a sentence of the interface, in pages and docstrings."""
    if page == _INTERFACE:
        _mark_sentences(doctree)
    for text in list(doctree.findall(nodes.Text)):
        if "§" not in text or any(isinstance(parent, _NO_LINKS) for parent in _parents(text)):
            continue
        around = [one for one in _parents(text) if isinstance(one, (nodes.row, nodes.list_item, nodes.paragraph))]
        has_own_words = text.startswith("§") and " " in text  # a cell may have several lines
        context = around[-1].astext() if around and not has_own_words else text
        begin = context.index(text)
        parts: list[nodes.Node] = []
        end = 0
        for first, last, passage in citations(context):
            if not begin <= first < begin + len(text):
                continue
            citation = context[first:last]
            if passage is None:
                _LOG.warning("the interface has no section %s", citation, location=page)
                continue
            address = f"{app.builder.get_relative_uri(page, _INTERFACE)}#{anchor(passage)}"
            parts += [nodes.Text(text[end : first - begin]), nodes.reference("", citation, refuri=address)]
            end = last - begin
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def _parents(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _stay_on_the_site(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Turn links to the published site, such as those of the README, into links within this build."""
    for link in doctree.findall(nodes.reference):
        if link.get("refuri", "").startswith(_SITE):
            name, _, anchor = link["refuri"].removeprefix(_SITE).partition("#")
            target = name.rstrip("/")
            target = target if target in app.env.all_docs else f"{target}/index".lstrip("/")
            if target not in app.env.all_docs:
                _LOG.warning("the site has no page %s", link["refuri"], location=page)
            link["refuri"] = app.builder.get_relative_uri(page, target) + (f"#{anchor}" if anchor else "")
            link["internal"] = True


# The words that people search for


def _add_search_words(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Turn the comment ``<!-- search: CORS, preflight -->`` of a page into entries of the index, for the search."""
    source[0] = re.sub(r"^<!-- search: (.*) -->$", r"\n```{index} \1\n```\n", source[0], count=1, flags=re.MULTILINE)


# llms.txt


def _write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write an index of the pages for language models: the title and the first sentence of each."""
    if error is not None or app.builder.format != "html":
        return
    lines = ["# petstore_mock", "", f"> {_first_sentence(app, 'index')}", ""]
    for group in ("tutorial", "how-to", "reference", "explanation"):
        lines += [f"## {app.env.titles[f'{group}/index'].astext()}", ""]
        for page in _pages_under(app.env.toctree_includes, f"{group}/index"):
            address = _SITE + page.removesuffix("index").rstrip("/") + "/"
            lines.append(f"- [{app.env.titles[page].astext()}]({address}): {_first_sentence(app, page)}")
        lines.append("")
    Path(app.outdir, "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _pages_under(includes: dict[str, list[str]], page: str) -> Iterator[str]:
    for one in includes.get(page, []):
        yield one
        yield from _pages_under(includes, one)


def _first_sentence(app: Sphinx, page: str) -> str:
    paragraphs = (one.astext() for one in app.env.get_doctree(page).findall(nodes.paragraph))
    text = " ".join(next((one for one in paragraphs if one.strip()), "").split())
    return re.split(r"(?<=[.:])\s(?=[A-Z`])", text)[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the hooks. One docstring hook runs before napoleon, whose priority is 500, and the other after it."""
    app.connect("autodoc-process-docstring", _leave_out_internal, priority=400)
    app.connect("autodoc-process-docstring", _read_property, priority=600)
    app.connect("source-read", _add_search_words)
    app.connect("doctree-resolved", _link_citations)
    app.connect("doctree-resolved", _stay_on_the_site)
    app.connect("build-finished", _write_llms)
    return {"parallel_read_safe": True}
