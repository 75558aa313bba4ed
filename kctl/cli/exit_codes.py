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

    OK = 0, "ok"
    UNEXPECTED = 1, "unexpected error"
    USAGE = 2, "usage or configuration"
    DEGRADED = 3, "usable, but a broker or an item failed"
    DNS = 10, "a name does not resolve"
    REFUSED = 11, "refused, reset or unreachable"
    CONNECT_TIMEOUT = 12, "connect timeout"
    TLS = 13, "TLS handshake failed"
    AUTHENTICATION = 14, "authentication failed"
    WRONG_PEER = 15, "wrong protocol on that port"
    REQUEST_TIMEOUT = 16, "request timeout"
    API_TIMEOUT = 17, "API timeout"
    ADVERTISED_ADDRESS = 18, "advertised address unusable, or misrouted"
    NOT_ABLE_YET = 19, "broker not able yet (no leader, no coordinator)"
    UNDELIVERED = 20, "undelivered records"
    CLOSE_TIMEOUT = 21, "close timeout hit"
    NOT_AUTHORISED = 22, "not authorised"
    UNKNOWN_RESOURCE = 23, "unknown topic, group or resource"
    DATA = 24, "data: decode, schema or too large"
    DISK = 25, "a disk is full or failing"
    SIGHUP = 129, "hung up (terminal closed)"
    SIGINT = 130, "interrupted (Ctrl-C)"
    SIGTERM = 143, "terminated"
