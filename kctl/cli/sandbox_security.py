"""Security of the listeners of `kctl sandbox start`: SASL users and TLS."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kctl.cli import click
from kctl.client.config import read_input
from kctl.sandbox import ListenerSecurity
from kctl.sandbox.identity import ANONYMOUS, SaslUsers

if TYPE_CHECKING:
    from ssl import SSLContext

__all__ = ["ANONYMOUS", "read_principal", "read_security"]

LARGEST_BYTES = 1 << 20


def read_security(users: Sequence[str], certificate: Path | None) -> ListenerSecurity:
    """Return the security of all listeners. Raises: click.BadParameter: a user or file is invalid."""
    context = None if certificate is None else _tls(certificate)
    passwords = dict(map(_user, users))
    return ListenerSecurity(context, SaslUsers(passwords) if passwords else None)


def _tls(certificate: Path) -> "SSLContext":
    import ssl  # 10 ms, for those who want TLS

    from kctl.client.errors import ConfigError
    from kctl.client.security import server_context

    try:
        return server_context(_text(certificate, "'--tls-certificate'"))
    except (ssl.SSLError, ConfigError, ValueError) as e:
        raise click.BadParameter(
            f"{certificate} is not a PEM file with a private key and its certificate: {e}",
            param_hint="'--tls-certificate'",
        ) from None


def read_principal(text: str) -> str:
    """Return a principal with its type, such as User:admin for `admin`."""
    return text if ":" in text else f"User:{text}"


def _user(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise click.BadParameter(
            f"use NAME=FILE, a user and the file with the password, instead of {text!r}", param_hint=_USER
        )
    password = _text(Path(file), _USER).rstrip("\r\n")
    if not password:
        raise click.BadParameter(f"password file {file} is empty", param_hint=_USER)
    return name, password


_USER = "'--sasl-user'"


def _text(path: Path, where: str) -> str:
    try:
        raw, _ = read_input(path, LARGEST_BYTES)
        return raw.decode()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else "not UTF-8"
        raise click.BadParameter(f"cannot read {path}: {reason}", param_hint=where) from None
