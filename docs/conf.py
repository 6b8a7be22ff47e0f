"""How Sphinx builds the site: ``make docs``."""

from __future__ import annotations

from typing import Final

from petstore_mock import __version__

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

autodoc_member_order: Final = "bysource"
autodoc_typehints: Final = "none"  # the signature has them; twice is once too many
napoleon_numpy_docstring: Final = False

copybutton_exclude: Final = ".linenos, .gp, .go"
