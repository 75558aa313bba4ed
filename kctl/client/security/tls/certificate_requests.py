"""Whether a TLS peer asked for a client certificate: read from the handshake's messages, as Python's ssl has no API.

Watched only for a probe, as the hook is called for every record. It is CPython's own (`SSLContext._msg_callback`, since
3.8, not documented); where it is missing the answer is None. Shown by tests/unit/security/test_certificate_requests.py.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssl import SSLContext, SSLObject

_HOOK = "_msg_callback"
_MARK = "kctl_certificate_asked"
_HANDSHAKE = 22
_CERTIFICATE_REQUEST = 13


def watch_certificate_requests(context: "SSLContext") -> None:
    """Note from now on, for every channel of `context`, whether its peer asks for a certificate."""
    if hasattr(context, _HOOK):
        setattr(context, _HOOK, _note)


def is_certificate_asked(tls: "SSLObject") -> bool | None:
    """Return whether the peer has asked so far; None where that was not watched."""
    if getattr(tls.context, _HOOK, None) is None:
        return None
    return bool(vars(tls).get(_MARK, False))


def _note(tls: Any, direction: str, _version: object, content_type: Any, message_type: Any, _data: bytes) -> None:
    if direction == "read" and content_type == _HANDSHAKE and message_type == _CERTIFICATE_REQUEST:
        vars(tls)[_MARK] = True
