"""Requests to object stores and tables that the caller's thread waits for: whom they are reported to.

The libraries that make them have no events, as the client has.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

ReportWait = Callable[[str], AbstractContextManager[None]]
"""Takes what a request has not got yet, such as `s3://bucket/x: no response`; its context lasts as the request does."""

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
    """Return a context for one request."""
    return _report.get()(what)
