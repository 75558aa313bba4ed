"""ExitCode: one code per cause, for scripts; the texts are those of `kctl --help` and the manual page."""

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """What the process answers to its caller."""

    text: str

    def __new__(cls, code: int, text: str) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        return member

    OK = 0, "success"
    UNEXPECTED = 1, "unexpected error"
    USAGE = 2, "usage or configuration"
    DEGRADED = 3, "partial failure"
    DNS = 10, "name resolution failed"
    REFUSED = 11, "refused, reset, or unreachable"
    CONNECT_TIMEOUT = 12, "connect timeout"
    TLS = 13, "TLS handshake failed"
    AUTHENTICATION = 14, "authentication failed"
    WRONG_PEER = 15, "wrong protocol on this port"
    REQUEST_TIMEOUT = 16, "request timeout"
    API_TIMEOUT = 17, "API timeout"
    ADVERTISED_ADDRESS = 18, "advertised address unreachable or wrong"
    NOT_ABLE_YET = 19, "no leader or coordinator available"
    UNDELIVERED = 20, "undelivered records"
    CLOSE_TIMEOUT = 21, "close timed out"
    NOT_AUTHORISED = 22, "not authorized"
    UNKNOWN_RESOURCE = 23, "unknown topic, group, or resource"
    DATA = 24, "invalid data (decoding, schema, or size)"
    DISK = 25, "disk full or failing"
    SIGHUP = 129, "terminal closed"
    SIGINT = 130, "interrupted (Ctrl-C)"
    SIGTERM = 143, "terminated"
