"""OAUTHBEARER (RFC 7628, KIP-255): a token in one message; and where the token comes from.

Owns the message, the unsecured tokens of test clusters, and reading tokens from a file. Fetching them from a token
endpoint (KIP-768) is not spoken: the config says so at once. Shown by tests/unit/security/test_oauthbearer.py.
"""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.client.clock import Clock
from kctl.client.config import ClientConfig, read_input
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.jaas import KEY, JaasEntry

MAX_TOKEN_BYTES = 64 * 1024
SEPARATOR = "\x01"
DUMMY_RESPONSE = b"\x01"
"""What a client answers to a refusal, so that the broker may end the exchange."""

_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x20-\x7e\t\r\n]+")
_CLAIM_KINDS = ("StringClaim_", "NumberClaim_", "ListClaim_")


class Token(NamedTuple):
    """A bearer token, and the SASL extensions to send along."""

    value: str
    extensions: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return "Token(***)"


TokenSource = Callable[[], Token]
"""Asked once per connection, so that it can give a renewed token."""


class OauthBearerClient:
    """The client's side."""

    name = "OAUTHBEARER"

    def __init__(self, source: TokenSource) -> None:
        self.complete = False
        self._source = source
        self._refusal = ""

    def first(self) -> bytes:
        """
        Raises: AuthenticationError: the source gives no usable token.
        """
        token = self._source()
        if not _TOKEN.fullmatch(token.value) or len(token.value) > MAX_TOKEN_BYTES:
            raise AuthenticationError("OAUTHBEARER: the token is empty, too long or not a bearer token")
        pairs = {"auth": f"Bearer {token.value}", **token.extensions}
        return ("n,," + SEPARATOR + "".join(f"{k}={v}{SEPARATOR}" for k, v in pairs.items()) + SEPARATOR).encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self._refusal or self.complete:
            why = self._refusal or "the broker sent more than OAUTHBEARER allows"
            raise AuthenticationError(f"OAUTHBEARER: {why}")
        if not challenge:
            self.complete = True
            return None
        self._refusal = f"the token was refused: {_words(challenge)}"
        return DUMMY_RESPONSE


def _words(challenge: bytes) -> str:
    """Return the reason of a refusal, as far as it can be read: JSON with a status and perhaps a scope."""
    try:
        refusal = json.loads(challenge[:MAX_TOKEN_BYTES])
    except (ValueError, RecursionError):
        return repr(challenge[:100])
    if not isinstance(refusal, dict):
        return repr(challenge[:100])
    return ", ".join(f"{name} {value}" for name, value in refusal.items() if isinstance(value, str))[:400]


# --- where tokens come from ------------------------------------------------------------------------------------------


def token_source_from_config(config: ClientConfig, entry: JaasEntry | None, clock: Clock) -> TokenSource:
    """Return the source of tokens that the config names.

    Raises: ConfigError: it names none, or a token endpoint.
    """
    extensions = _extensions(entry)
    if config.sasl_oauthbearer_token is not None:
        token = Token(config.sasl_oauthbearer_token, extensions)
        return lambda: token
    if config.sasl_oauthbearer_token_file is not None:
        path = config.sasl_oauthbearer_token_file
        return lambda: Token(_read_token(path), extensions)
    endpoint = config.sasl_oauthbearer_token_endpoint_url
    if endpoint is not None:
        path = _path_of(endpoint)
        return lambda: Token(_read_token(path), extensions)
    if entry is not None and any(name.startswith("unsecuredLogin") for name in entry.options):
        options = entry.options
        unsecured_token(options, clock.wall_ms())  # a mistake in the options shows now, not at the first connection
        return lambda: Token(unsecured_token(options, clock.wall_ms()), extensions)
    raise ConfigError(
        "sasl.mechanism=OAUTHBEARER needs a token: sasl.oauthbearer.token.file, sasl.oauthbearer.token, "
        f"or unsecuredLoginStringClaim_sub in {KEY}",
        key="sasl.mechanism",
    )


def unsecured_token(options: Mapping[str, str], wall_ms: int) -> str:
    """Return an unsigned JWT of the `unsecuredLogin...` options, as test clusters accept it.

    Raises: ConfigError: a number or list option is malformed, or there is no principal.
    Source: KIP-255; Java OAuthBearerUnsecuredLoginCallbackHandler.
    """
    claims: dict[str, object] = {}
    for option, text in options.items():
        for kind in _CLAIM_KINDS:
            prefix = "unsecuredLogin" + kind
            if option.startswith(prefix):
                claims[option.removeprefix(prefix)] = _claim(option, kind, text)
    principal = options.get("unsecuredLoginPrincipalClaimName", "sub")
    if not isinstance(claims.get(principal), str) or not claims[principal]:
        raise ConfigError(f"{KEY}: an unsecured token needs unsecuredLoginStringClaim_{principal}=...", key=KEY)
    lifetime_s = _number("unsecuredLoginLifetimeSeconds", options.get("unsecuredLoginLifetimeSeconds", "3600"))
    issued_s = wall_ms / 1000
    claims.setdefault("iat", issued_s)
    claims.setdefault("exp", issued_s + lifetime_s)
    return f"{_base64url({'alg': 'none'})}.{_base64url(claims)}."


def _claim(option: str, kind: str, text: str) -> object:
    if kind == "NumberClaim_":
        return _number(option, text)
    if kind == "ListClaim_":
        # The first character is the separator: "|a|b" is a and b.
        return text[1:].split(text[0]) if len(text) > 1 else []
    return text


def _number(option: str, text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,9})?", text):
        raise ConfigError(f"{KEY}: {option} must be a number", key=KEY)
    return float(text)


def _base64url(claims: Mapping[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


def _extensions(entry: JaasEntry | None) -> dict[str, str]:
    extensions: dict[str, str] = {}
    for option, value in (entry.options if entry is not None else {}).items():
        for prefix in ("unsecuredLoginExtension_", "extension_"):
            if option.startswith(prefix):
                name = option.removeprefix(prefix)
                if name == "auth" or not _EXTENSION_NAME.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
                    raise ConfigError(f"{KEY}: an {prefix}... option is not a valid SASL extension", key=KEY)
                extensions[name] = value
    return extensions


def _path_of(endpoint: str) -> str:
    """Return the path of a file: URL; any other endpoint is refused."""
    url = urlsplit(endpoint)
    if url.scheme != "file":
        raise ConfigError(
            "sasl.oauthbearer.token.endpoint.url: tokens are not fetched over HTTP; fetch one into a file and "
            "set sasl.oauthbearer.token.file",
            key="sasl.oauthbearer.token.endpoint.url",
        )
    return unquote(url.path)


def _read_token(path: str) -> str:
    try:
        content, _ = read_input(path, MAX_TOKEN_BYTES + 1)
    except OSError as e:
        raise AuthenticationError(f"OAUTHBEARER: the token file {path} cannot be read: {e.strerror}") from e
    return content.decode("ascii", "replace").strip()
