"""How Sphinx builds the site: ``make docs``."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docutils import nodes
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.util import logging

from petstore_mock import __version__

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
myst_heading_anchors: Final = 3  # so that a link may name a heading

html_theme: Final = "furo"
html_title: Final = f"petstore_mock {release}"
html_show_sphinx: Final = False
smartquotes: Final = False  # messages are shown as programs print them
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


# Links

_LOG: Final = logging.getLogger(__name__)
_SITE: Final = "https://petstore-mock.readthedocs.io/en/stable/"
_INTERFACE: Final = "reference/interface"
# A section of an RFC stays text.
_SECTION: Final = re.compile(r"RFC\s+\d+\s+§[\d.]+(?:,\s+§[\d.]+)*|§(\d(?:\.\d)?)(?![\d.]*\d)")
# The least weight of a link. A word weighs 1, divided by the number of sentences of the section that have it.
_ALIKE: Final = 2
_NO_LINKS: Final = (nodes.literal_block, nodes.reference, nodes.title, nodes.image, nodes.literal, nodes.raw)


def _sentences(tree: nodes.document) -> Iterator[tuple[str, str, set[str], nodes.Element]]:
    """Yield each sentence of the interface: the number of its section, its anchor, its words and its element."""
    title = number = ""
    counts: Counter[str] = Counter()
    for node in tree.findall(nodes.Element):
        if isinstance(node, nodes.title):
            title = node.astext()
            number = next(iter(re.findall(r"^\d(?:\.\d)?", title)), number)
        in_section = isinstance(node, nodes.paragraph) and isinstance(node.parent, nodes.section)
        is_item = isinstance(node, nodes.list_item) and not any(node.findall(nodes.bullet_list))
        if number and (in_section or is_item or (isinstance(node, nodes.row) and isinstance(node.parent, nodes.tbody))):
            counts[number] += 1
            anchor = f"sentence-{number}-{counts[number]}".replace(".", "-")
            yield number, anchor, _words(f"{title} {node.astext()}"), node


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()))


def _sections(app: Sphinx) -> dict[str, list[tuple[str, set[str]]]]:
    """Return, by the number of a section, its anchor and then the anchors of its sentences, with their words."""
    tree = app.env.get_doctree(_INTERFACE)
    numbers = {one: re.match(r"\d(\.\d)?", one.next_node(nodes.title).astext()) for one in tree.findall(nodes.section)}
    found = {number[0]: [(one["ids"][0], set[str]())] for one, number in numbers.items() if number}
    for number, anchor, words, _ in _sentences(tree):
        found[number].append((anchor, words))
    return found


def _nearest(sentences: list[tuple[str, set[str]]], words: set[str]) -> str:
    """Return the anchor of the sentence that shares the rarest words with a text, or that of the section."""
    counts = Counter(word for _, known in sentences for word in known)

    def likeness(sentence: tuple[str, set[str]]) -> float:
        return sum(1 / counts[word] for word in sentence[1] & words)

    best = max(sentences, key=likeness)
    return best[0] if likeness(best) >= _ALIKE else sentences[0][0]


def _link_sections(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link each § to its sentence of the interface, in pages and docstrings. An inference leads to the section."""
    sections, builder = _sections(app), app.builder
    if page == _INTERFACE:
        for _, anchor, _, node in _sentences(doctree):
            node["ids"].append(anchor)
    for text in list(doctree.findall(nodes.Text)):
        if "§" not in text or any(isinstance(parent, _NO_LINKS) for parent in _parents(text)):
            continue
        around = [one for one in _parents(text) if isinstance(one, (nodes.row, nodes.list_item, nodes.paragraph))]
        has_own_words = text.startswith("§") and " " in text  # one of several lines in a row
        context = around[-1].astext() if around and not has_own_words else text
        parts: list[nodes.Node] = []
        end = 0
        for found in _SECTION.finditer(text):
            if found[1] and found[1] not in sections:
                _LOG.warning("the interface has no section %s", found[0], location=page)
            elif found[1]:
                is_inference = text[: found.start()].endswith("by the meaning of ")
                quoted = re.match(r": ([^)]+)", text[found.end() :])
                words = "" if is_inference else quoted[1] if quoted else context
                anchor = _nearest(sections[found[1]], _words(words))
                address = f"{builder.get_relative_uri(page, _INTERFACE)}#{anchor}"
                parts += [nodes.Text(text[end : found.start()]), nodes.reference("", found[0], refuri=address)]
                end = found.end()
        text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def _parents(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _stay_on_the_site(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make links to the published site, such as those of the README, links within this build of it."""
    for link in doctree.findall(nodes.reference):
        if link.get("refuri", "").startswith(_SITE):
            name, _, anchor = link["refuri"].removeprefix(_SITE).partition("#")
            target = name.rstrip("/")
            target = target if target in app.env.all_docs else f"{target}/index".lstrip("/")
            if target not in app.env.all_docs:
                _LOG.warning("the site has no page %s", link["refuri"], location=page)
            link["refuri"] = app.builder.get_relative_uri(page, target) + (f"#{anchor}" if anchor else "")
            link["internal"] = True


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
    """Add the hooks. Those of autodoc come before and after napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _leave_out_internal, priority=400)
    app.connect("autodoc-process-docstring", _read_property, priority=600)
    app.connect("autodoc-process-signature", _show_signature)
    app.connect("doctree-resolved", _link_sections)
    app.connect("doctree-resolved", _stay_on_the_site)
    app.connect("build-finished", _write_llms)
    return {"parallel_read_safe": True}
