"""``make generated``: write the parts of the documents that are made from the package, and draw the demo."""

from __future__ import annotations

import sys

from tools.documents import demo
from tools.documents.blocks import write
from tools.documents.parts import PARTS, missed_mutants


def main() -> None:
    """Write the named parts; by default all except the missed mutants, which take minutes."""
    demo.TARGET.write_text(demo.picture(), encoding="utf-8")
    for name in sys.argv[1:] or [name for name, part in PARTS.items() if part.make is not missed_mutants]:
        write(PARTS[name].document, name, PARTS[name].make())


main()
