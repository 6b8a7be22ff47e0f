"""``petstore-mock openapi``: prints the interface as an OpenAPI document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TextIO

from petstore_mock.common.refusing import require
from petstore_mock.common.values import shown_url
from petstore_mock.interface.openapi import (
    as_openapi_3_0,
    openapi_document,
    without_default_responses,
    without_int64_bounds,
)
from petstore_mock.journal.exchange import is_base_url

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = "Print the interface as an OpenAPI document, generated from the fake's operations and schemas."


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="URL", help="a base address to list first, such as http://127.0.0.1:8080/v1"
    )
    parser.add_argument(
        "--openapi", choices=("3.1", "3.0"), default="3.1", help="the version of OpenAPI (default: 3.1)"
    )
    parser.add_argument(
        "--no-default-responses",
        action="store_true",
        help="leave out the responses 'default', which generators add to the type of each result",
    )
    parser.add_argument(
        "--no-int64-bounds",
        action="store_true",
        help="leave out the bounds beyond 2^53 of 64-bit integers, for tools whose numbers are doubles",
    )


def run(options: Namespace, stdout: TextIO, _: TextIO) -> int:
    fits = options.server is None or is_base_url(options.server)
    require(fits, "a base address such as http://127.0.0.1:8080/v1", server=shown_url(options.server))
    document = openapi_document(options.server)
    if options.no_default_responses:
        document = without_default_responses(document)
    if options.no_int64_bounds:
        document = without_int64_bounds(document)
    if options.openapi == "3.0":
        document = as_openapi_3_0(document)
    stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0
