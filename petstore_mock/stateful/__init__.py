"""A machine that finds bugs in clients of the pet store service.

Pass a function that makes your client. Its methods may have any names and return objects of any shape::

    from petstore_mock.stateful import check_client

    def test_client():
        check_client(lambda petstore: MyClient(petstore.url, petstore.api_key))

The machine varies everything that the interface leaves open. Responses get lost before and after the commit, other
actors change animals, keys are revoked, connections close. The machine shrinks each bug, and reports it as one
sentence, a test to paste, and the requests and responses.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, ParamSpec

from petstore_mock.checks import UnknownErrorError
from petstore_mock.checks.results import UNREAD
from petstore_mock.common.refusing import refuse
from petstore_mock.common.suggesting import of_module, refuse_arguments
from petstore_mock.errors import VerificationError
from petstore_mock.stateful.environments import environment
from petstore_mock.stateful.replay import is_replay
from petstore_mock.stateful.report import ClientBugError
from petstore_mock.stateful.run import CheckReport, Options, Run

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CheckReport", "ClientBugError", "check_client", "environment"]
__dir__ = __all__.copy  # editors and consoles complete these names

if not TYPE_CHECKING:  # a type checker would believe that every name exists
    __getattr__ = of_module(__name__, __all__)

P = ParamSpec("P")
__tracebackhide__ = True  # pytest shows the line of the test


def _checked(options: Options) -> CheckReport:
    if is_replay():
        refuse("expected check_client within a test function; got a call while a module of tests is imported")
    from petstore_mock.stateful.search import Search  # needs Hypothesis, unlike a pasted test

    with Run(options) as run:
        bugs = Search(run).find()
        if not bugs:
            if options.complete and run.report.gap_of_coverage:
                raise VerificationError(run.report.gap_of_coverage)
            return run.report
        error = ClientBugError.of(bugs)
        if all(bug.rule == UNREAD for bug in error.bugs):
            raise UnknownErrorError(f"This is a bug, or classify= must read the exception: {error.sentence}") from error
        raise error


def _with_arguments_of(options: Callable[P, Options]) -> Callable[P, CheckReport]:
    """Return ``check_client``, which has the arguments and the docstring of ``Options``."""

    def check_client(*args: P.args, **kwargs: P.kwargs) -> CheckReport:
        try:
            signature(options).bind(*args, **kwargs)
        except TypeError as error:
            refuse_arguments(options, kwargs, error, check_client.__name__)
        return _checked(options(*args, **kwargs))

    check_client.__doc__ = options.__doc__
    check_client.__qualname__ = check_client.__name__
    vars(check_client)["__signature__"] = signature(options).replace(return_annotation=CheckReport)
    return check_client


check_client = _with_arguments_of(Options)
