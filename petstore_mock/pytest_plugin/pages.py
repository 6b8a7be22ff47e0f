"""What people look at when a test fails: a page of its own, and the picture in the reports of other plugins."""

from __future__ import annotations

from base64 import b64encode
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.journal.exchange_svg import exchange_svg
from petstore_mock.journal.html_page import coverage_page, failure_page
from petstore_mock.journal.outcomes import outcomes
from petstore_mock.pytest_plugin.run import file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest

    from petstore_mock.journal.entry import Entry
    from petstore_mock.pytest_plugin.run import Run

__all__ = ["add_pictures", "write_coverage", "write_page"]

_PICTURE: Final = "petstore exchange"
_DRAWN: Final = 50  # requests


def add_pictures(config: pytest.Config, report: pytest.TestReport, worlds: Sequence[Sequence[Entry]]) -> None:
    """Put the picture of each world into the report of pytest-html, and of Allure, where they write one."""
    for svg in (exchange_svg(entries[-_DRAWN:]) for entries in worlds if entries):
        if config.getoption("htmlpath", None):
            extra = {
                "name": _PICTURE,
                "format_type": "image",
                "content": b64encode(svg.encode()).decode("ascii"),
                "mime_type": "image/svg+xml",
                "extension": "svg",
            }
            report.__dict__["extras"] = [*report.__dict__.get("extras", ()), extra]
        if config.getoption("allure_report_dir", None):
            allure: Any = import_module("allure")
            allure.attach(svg, _PICTURE, allure.attachment_type.SVG)


def write_page(
    directory: Path, run: Run, reports: Sequence[str], worlds: Sequence[tuple[str, list[Entry]]], *, with_coverage: bool
) -> str:
    """Write the page of a failing test, and return a line that says so."""
    assert run.petstore is not None  # noqa: S101  # for the type checker: only those that use it have a report
    secrets = run.petstore.tenant.secrets()
    count = None
    if with_coverage:
        bounds = run.petstore.tenant.limit_bounds
        shown = [
            (entry.operation or "", outcome)
            for _, entries in worlds
            for entry in entries
            for outcome in outcomes(entry, bounds)
        ]

        def count(operation: str, outcome: str) -> int:
            return shown.count((operation, outcome))

    page = failure_page(run.item.nodeid, mask_text("\n\n".join(reports), secrets), worlds, count)
    return _write(directory / f"{file_name(run.item.nodeid)}.html", page)


def write_coverage(directory: Path, count: Callable[[str, str], int]) -> str:
    """Write the page of the whole run's coverage, and return a line that says so."""
    return _write(directory / "coverage.html", coverage_page(count))


def _write(path: Path, page: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:  # the failure itself must be told all the same
        return f"no page: {error}"
    return f"page: {path}"
