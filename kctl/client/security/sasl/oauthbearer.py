"""OAUTHBEARER (RFC 7628, KIP-255): a token in one message, and sources of tokens.

Tokens from endpoints and callbacks take time, so network/fetched_tokens.py gets them.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from kctl.client.clock import Clock, duration_text
from kctl.client.config import ClientConfig, read_input
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.masking import without_secrets
from kctl.client.security.jaas import KEY, JaasEntry, read_jaas
from kctl.client.wording import one_line

if TYPE_CHECKING:
    from kctl.client.oauth import ClientCredentials

MAX_TOKEN_BYTES = 64 * 1024
MOST_REFUSAL_CHARS = 400
SEPARATOR = "\x01"
DUMMY_RESPONSE = b"\x01"
"""Response to a rejection, so that the broker may end the exchange."""

_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x20-\x7e\t\r\n]+")
_CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
_CLAIM_KINDS = ("StringClaim_", "NumberClaim_", "ListClaim_")


class Token(NamedTuple):
    value: str
    extensions: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return "Token(***)"


TokenSource = Callable[[], Token]
"""Function that returns the token. Each connection calls it, so it can return a renewed token."""


class OauthBearerClient:
    name = "OAUTHBEARER"

    def __init__(self, source: TokenSource, clock: Clock | None = None) -> None:
        """Args: clock: clock to tell in hints how long a token has been expired."""
        self.complete = False
        self._source = source
        self._clock = clock
        self._token = ""
        self._refusal = ""

    def first(self) -> bytes:
        """Return the message with the token. Raises: AuthenticationError: there is no usable token."""
        token = self._source()
        self._token = token.value
        if not _TOKEN.fullmatch(token.value) or len(token.value) > MAX_TOKEN_BYTES:
            raise AuthenticationError(
                f"OAUTHBEARER: the token is empty, longer than {MAX_TOKEN_BYTES} bytes, or not a bearer token"
            )
        pairs = {"auth": f"Bearer {token.value}", **token.extensions}
        return ("n,," + SEPARATOR + "".join(f"{k}={v}{SEPARATOR}" for k, v in pairs.items()) + SEPARATOR).encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self._refusal or self.complete:
            why = self._refusal or "the broker sent more messages than OAUTHBEARER allows"
            raise AuthenticationError(f"OAUTHBEARER: {why}", hint=self._hint() if self._refusal else "")
        if not challenge:
            self.complete = True
            return None
        self._refusal = f"the broker rejected the token: {self._words(challenge)}"
        return DUMMY_RESPONSE

    def masked(self, text: str) -> str:
        return without_secrets(text, (self._token,))

    def refusal(self, words: str) -> tuple[str, str]:
        return self._refusal or f"the broker rejected the token: {self._words(words.encode())}", self._hint()

    def _words(self, challenge: bytes) -> str:
        return self.masked(_words(challenge[:MAX_TOKEN_BYTES]))[:MOST_REFUSAL_CHARS]

    def _hint(self) -> str:
        claims = _claims_of(self._token)
        if claims is None:
            return "check the source of the token, which is not a JWT"
        issuer, audience, expires_s = (claims.get(name) for name in ("iss", "aud", "exp"))
        claimed = f"issuer {_shown(issuer)} and audience {_shown(audience)}"
        hint = f"compare the token with the settings of the broker: {claimed}"
        if self._clock is not None and isinstance(expires_s, int | float) and 0 < expires_s < 2**40:
            left_ms = int(expires_s * 1000) - self._clock.wall_ms()
            if left_ms <= 0:
                return f"{hint}, expired {duration_text(-left_ms)} ago"
        return hint


def _claims_of(token: str) -> dict[str, object] | None:
    """Return the unverified claims of a token; None if it is not a JWT."""
    parts = token.split(".")
    try:
        found = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))) if len(parts) == 3 else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _shown(claim: object) -> str:
    texts = claim if isinstance(claim, list) else [claim]
    return one_line(", ".join(each for each in texts if isinstance(each, str)))[:200] or "(none)"


def _words(challenge: bytes) -> str:
    """Return the reason in a rejection, which is JSON, as readable text."""
    try:
        refusal = json.loads(challenge)
    except (ValueError, RecursionError):
        return repr(challenge)
    if not isinstance(refusal, dict):
        return repr(challenge)
    return one_line(", ".join(f"{name} {value}" for name, value in refusal.items() if isinstance(value, str)))


# --- where tokens come from ------------------------------------------------------------------------------------------


def token_source_from_config(config: ClientConfig, entry: JaasEntry | None, clock: Clock) -> TokenSource:
    """Return the token source of the config.

    For callbacks and token endpoints, the config is only checked, because FetchedTokens gets their tokens.

    Raises: ConfigError: there is no source, or a required setting is missing.
    """
    extensions = _extensions(entry)
    if config.sasl_oauthbearer_token is not None:
        token = Token(config.sasl_oauthbearer_token, extensions)
        return lambda: token
    if config.sasl_oauthbearer_token_file is not None:
        path = config.sasl_oauthbearer_token_file
        return lambda: Token(_read_token(path), extensions)
    is_fetched = config.sasl_oauthbearer_token_callback is not None or config.sasl_oauthbearer_method == "aws_msk_iam"
    if is_fetched or credentials_of(config) is not None:
        return _not_fetched
    endpoint = config.sasl_oauthbearer_token_endpoint_url
    if endpoint is not None:
        path = unquote(urlsplit(endpoint).path)
        return lambda: Token(_read_token(path), extensions)
    if entry is not None and any(name.startswith("unsecuredLogin") for name in entry.options):
        options = entry.options
        unsecured_token(options, clock.wall_ms())  # report mistakes in the options now, not at the first connection
        return lambda: Token(unsecured_token(options, clock.wall_ms()), extensions)
    raise ConfigError(
        "sasl.mechanism=OAUTHBEARER needs a token: sasl.oauthbearer.token.file, sasl.oauthbearer.token, "
        f"sasl.oauthbearer.token.endpoint.url, or unsecuredLoginStringClaim_sub in {KEY}",
        key="sasl.mechanism",
    )


def credentials_of(config: ClientConfig) -> "ClientCredentials | None":
    url = config.sasl_oauthbearer_token_endpoint_url
    if url is None or url.startswith("file:"):
        return None
    from kctl.client.http import PlainLogin, check_plain_login, http_url  # deferred import: only for this login
    from kctl.client.oauth import ClientCredentials

    name = "sasl.oauthbearer.token.endpoint.url"
    try:
        parts = http_url(url)
    except ConfigError as e:
        raise ConfigError(f"{name}: {e}", key=name) from None
    if parts.username is not None:
        raise ConfigError(
            f"{name}: a URL with a user is not supported. Use {_CLIENT_ID} and its client.secret", key=name
        )
    client_id, client_secret, scope = _client_of(config)
    allowing = type(config).sasl_oauthbearer_token_endpoint_allow_http.name
    plain = PlainLogin(allowing, config.sasl_oauthbearer_token_endpoint_allow_http)
    check_plain_login(parts, name, plain)
    return ClientCredentials(url, client_id, client_secret, scope, config.sasl_oauthbearer_header_urlencode, plain)


def _client_of(config: ClientConfig) -> tuple[str, str, str | None]:
    options = {} if config.sasl_jaas_config is None else read_jaas(config.sasl_jaas_config).options
    client_id = config.sasl_oauthbearer_client_credentials_client_id or options.get("clientId")
    client_secret = config.sasl_oauthbearer_client_credentials_client_secret or options.get("clientSecret")
    if not client_id or not client_secret:
        raise ConfigError(f"a token endpoint needs {_CLIENT_ID} and its client.secret", key=_CLIENT_ID)
    return client_id, client_secret, config.sasl_oauthbearer_scope or options.get("scope")


def unsecured_token(options: Mapping[str, str], wall_ms: int) -> str:
    """Return an unsigned JWT from the `unsecuredLogin...` options, for test clusters.

    Raises: ConfigError: an option is missing or invalid.
    Source: KIP-255; Java OAuthBearerUnsecuredLoginCallbackHandler.
    """
    claims = _claims_in(options)
    principal = options.get("unsecuredLoginPrincipalClaimName", "sub")
    if not isinstance(claims.get(principal), str) or not claims[principal]:
        raise ConfigError(f"{KEY}: an unsecured token needs the option unsecuredLoginStringClaim_{principal}", key=KEY)
    lifetime_s = _number("unsecuredLoginLifetimeSeconds", options.get("unsecuredLoginLifetimeSeconds", "3600"))
    issued_s = wall_ms / 1000
    claims.setdefault("iat", issued_s)
    claims.setdefault("exp", issued_s + lifetime_s)
    return f"{_base64url({'alg': 'none'})}.{_base64url(claims)}."


def _claims_in(options: Mapping[str, str]) -> dict[str, object]:
    claims: dict[str, object] = {}
    for option, text in options.items():
        for kind in _CLAIM_KINDS:
            prefix = "unsecuredLogin" + kind
            if option.startswith(prefix):
                claims[option.removeprefix(prefix)] = _claim(option, kind, text)
    return claims


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


def token_extensions(config: ClientConfig) -> dict[str, str]:
    """Return the SASL extensions in sasl.jaas.config. Raises: ConfigError: an extension is invalid."""
    return _extensions(None if config.sasl_jaas_config is None else read_jaas(config.sasl_jaas_config))


def _extensions(entry: JaasEntry | None) -> dict[str, str]:
    extensions: dict[str, str] = {}
    for option, value in (entry.options if entry is not None else {}).items():
        for prefix in ("unsecuredLoginExtension_", "extension_"):
            if option.startswith(prefix):
                name = option.removeprefix(prefix)
                if name == "auth" or not _EXTENSION_NAME.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
                    raise ConfigError(
                        f"{KEY}: an option that starts with {prefix} is not a valid SASL extension", key=KEY
                    )
                extensions[name] = value
    return extensions


def _not_fetched() -> Token:
    raise AuthenticationError("OAUTHBEARER: the client has no token")


def _read_token(path: str) -> str:
    try:
        content, _ = read_input(path, MAX_TOKEN_BYTES + 1)
    except OSError as e:
        raise AuthenticationError(f"OAUTHBEARER: cannot read the token file {path}: {e.strerror}") from e
    return content.decode("ascii", "replace").strip()
