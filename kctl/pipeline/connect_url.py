"""URL of a Spark Connect server, whose parameters can contain a token.

Messages show only the address. `concealed` removes a token from texts of others.
"""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.client.errors import ConfigError
from kctl.pipeline.references import is_reference, resolved_text

SCHEME = "sc"
DEFAULT_PORT = 15002
SHORTEST_SECRET = 4
"""Minimum characters of a value that `concealed` replaces. Shorter values are parts of words."""
PUBLIC = frozenset({"use_ssl", "user_id", "session_id", "user_agent"})
"""Parameters that are not secrets. All others are headers, which can contain credentials."""


class ConnectUrl(NamedTuple):
    """Parsed URL.

    Attributes:
        text: the URL with its secrets, for PySpark.
        secrets: values of parameters that no message may contain.
    """

    text: str
    host: str
    port: int
    secrets: tuple[str, ...]

    @property
    def address(self) -> str:
        """Address for messages."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def concealed(self, text: str) -> str:
        """Return the text with *** instead of the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def parse_connect_url(text: str) -> ConnectUrl:
    """Return the parsed URL. Resolves a reference such as `env:SPARK_REMOTE`.

    Raises: ConfigError: the URL or the reference is invalid. The message does not contain the URL's parameters.
    """
    url = resolved_text("remote", text) if is_reference(text) else text
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port or DEFAULT_PORT
    except ValueError:
        raise _invalid(url) from None
    path, *parameters = parts.path.removeprefix("/").split(";")
    pairs = [each.split("=") for each in parameters if each]
    if (
        parts.scheme != SCHEME
        or not host
        or path
        or parts.username
        or parts.query
        or parts.fragment
        or any(len(pair) != 2 for pair in pairs)
    ):
        raise _invalid(url)
    values = [value for name, value in pairs if name not in PUBLIC]
    secrets = {each for value in values for each in (value, unquote(value)) if len(each) >= SHORTEST_SECRET}
    return ConnectUrl(url.strip(), host, port, tuple(sorted(secrets, key=len, reverse=True)))


def _invalid(url: str) -> ConfigError:
    shown = url.split(";", 1)[0].split("?", 1)[0].rsplit("@", 1)[-1][:80]
    return ConfigError(f"invalid remote {shown!r}: use sc://HOST:PORT", key="remote")
