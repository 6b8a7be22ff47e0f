"""``make lines``: shows the size of each product of the package, and of everything around the package, in lines."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
# The package is four products. The fake is the one that the others build on.
_PRODUCTS: Final = {
    "the door": ("control", "remote"),
    "the machine": ("adapter", "checks", "strategies", "stateful"),
    "the verifier": ("verify",),
}
_COMMANDS: Final = "the command line"
_FAKE: Final = "the fake"
_GENERATED: Final = {"benchmarks/RESULTS.md"}
_BINARY: Final = {".png", ".ico"}


def _files() -> dict[str, int]:
    """Return the number of lines of each file of the checkout that somebody wrote, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    counted: dict[str, int] = {}
    for name in names:
        path = _ROOT / name
        is_written = name not in _GENERATED and path.suffix not in _BINARY and "/golden/" not in name
        if name and is_written and path.is_file():
            counted[name] = len(path.read_text(encoding="utf-8").splitlines())
    return counted


def _part(name: str) -> str:
    """Return the product or the folder that a file belongs to."""
    folder, _, rest = name.partition("/")
    if folder != "petstore_mock":
        return f"{folder}/" if rest else "the top level"
    if not name.endswith(".py"):
        return "the console's page"
    room = rest.partition("/")[0]
    if room == "cli":
        return _COMMANDS
    return next((product for product, rooms in _PRODUCTS.items() if room in rooms), _FAKE)


def main() -> None:
    """Print the lines of each part, the products first."""
    lines: Counter[str] = Counter()
    for name, count in _files().items():
        lines[_part(name)] += count
    first = [_FAKE, *_PRODUCTS, _COMMANDS]
    for part in [*first, *sorted(lines.keys() - {*first})]:
        print(f"{part:24} {lines[part]:8,}")


if __name__ == "__main__":
    main()
