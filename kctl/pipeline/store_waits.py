"""Reports of requests to object stores and tables, whose libraries have no events."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

ReportWait = Callable[[str], AbstractContextManager[None]]
"""Function of the state of a request, such as `s3://bucket/x: no response`, that returns a context for the request."""

_report: ContextVar[ReportWait] = ContextVar("report", default=lambda _what: nullcontext())


@contextmanager
def waits_reported_to(report: ReportWait) -> Iterator[None]:
    """Report the requests of this thread while the context lasts."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def waiting_for(what: str) -> AbstractContextManager[None]:
    return _report.get()(what)
