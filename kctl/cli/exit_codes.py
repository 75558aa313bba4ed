"""ExitCode: one code per cause, for scripts."""

from enum import IntEnum
from typing import Self

from kctl.client.errors import ErrorKind

_OF_KIND: dict[ErrorKind, "ExitCode"] = {}


class ExitCode(IntEnum):
    """Exit code of the process."""

    text: str

    def __new__(cls, code: int, cause: ErrorKind | str) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = cause.value if isinstance(cause, ErrorKind) else cause
        if isinstance(cause, ErrorKind):
            _OF_KIND[cause] = member
        return member

    OK = 0, "success"
    UNEXPECTED = 1, ErrorKind.UNEXPECTED
    USAGE = 2, ErrorKind.USAGE
    PARTIAL_FAILURE = 3, ErrorKind.PARTIAL
    DNS = 10, ErrorKind.DNS
    REFUSED = 11, ErrorKind.CONNECTION
    CONNECT_TIMEOUT = 12, ErrorKind.CONNECT_TIMEOUT
    TLS = 13, ErrorKind.TLS
    AUTHENTICATION = 14, ErrorKind.AUTHENTICATION
    WRONG_PROTOCOL = 15, ErrorKind.WRONG_PROTOCOL
    REQUEST_TIMEOUT = 16, ErrorKind.REQUEST_TIMEOUT
    API_TIMEOUT = 17, ErrorKind.TIMEOUT
    ADVERTISED_ADDRESS = 18, ErrorKind.ADVERTISED_ADDRESS
    UNAVAILABLE = 19, ErrorKind.UNAVAILABLE
    UNDELIVERED = 20, ErrorKind.UNDELIVERED
    CLOSE_TIMEOUT = 21, ErrorKind.CLOSE_TIMEOUT
    NOT_AUTHORIZED = 22, ErrorKind.AUTHORIZATION
    UNKNOWN_RESOURCE = 23, ErrorKind.UNKNOWN_RESOURCE
    DATA = 24, ErrorKind.DATA
    DISK = 25, ErrorKind.DISK
    SIGHUP = 129, "terminal closed"
    SIGINT = 130, "interrupted (Ctrl-C)"
    SIGTERM = 143, "terminated"


UNCONNECTED = (
    ExitCode.DNS,
    ExitCode.REFUSED,
    ExitCode.CONNECT_TIMEOUT,
    ExitCode.TLS,
    ExitCode.AUTHENTICATION,
    ExitCode.WRONG_PROTOCOL,
)
"""Causes of connections that never carried a request, the nearest to a working connection last."""


def exit_code_of(kind: ErrorKind) -> ExitCode:
    return _OF_KIND[kind]
