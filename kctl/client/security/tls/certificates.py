from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ssl import SSLObject

_SHORT = {"commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C"}


class PeerCertificate(NamedTuple):
    """A certificate as the peer presented it, not verified.

    Attributes:
        subject, issuer: distinguished names, such as `CN=localhost, O=example`.
        not_before_ms, not_after_ms: validity, in ms since the epoch.
        not_before, not_after: validity as dates, such as `2026-11-20`.
        names: host names and addresses.
    """

    subject: str
    issuer: str
    not_before_ms: int
    not_after_ms: int
    not_before: str
    not_after: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.subject}, issuer {self.issuer}"


def presented_chain(tls: "SSLObject") -> tuple[PeerCertificate, ...]:
    """Return the certificates of the peer, leaf first, even if rejected; empty if it presented none.

    It uses a private function, because the public one requires a completed handshake. Without it, errors are shorter.
    """
    chain = getattr(getattr(tls, "_sslobj", None), "get_unverified_chain", None)
    return tuple(_described(certificate.get_info()) for certificate in (chain() if chain else None) or ())


def _described(info: Mapping[str, Any]) -> PeerCertificate:
    from ssl import cert_time_to_seconds

    not_before, not_after = info["notBefore"], info["notAfter"]
    return PeerCertificate(
        _name(info.get("subject", ())),
        _name(info.get("issuer", ())),
        cert_time_to_seconds(not_before) * 1000,
        cert_time_to_seconds(not_after) * 1000,
        _date(not_before),
        _date(not_after),
        tuple(name for kind, name in info.get("subjectAltName", ()) if kind in ("DNS", "IP Address")),
    )


def _name(parts: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    pairs = [f"{_SHORT.get(kind, kind)}={_plain(value)}" for part in parts for kind, value in part]
    return ", ".join(pairs) or "(no name)"


def _plain(value: str) -> str:
    """Escape unprintable characters, by which the peer could control a terminal."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in value[:200])


def _date(text: str) -> str:
    """Return `2026-11-20` for OpenSSL's `Nov 20 14:01:35 2026 GMT`."""
    month, day, _, year, _ = text.split()
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{year}-{months.index(month) + 1:02}-{int(day):02}"
