"""Client credentials grant: access tokens from an OAuth endpoint (RFC 6749, section 4.4; KIP-768)."""

from base64 import b64encode
from typing import NamedTuple
from urllib.parse import quote, urlencode

from kctl.client.clock import Timer
from kctl.client.errors import AuthenticationError, ConnectionLost, WrongPeerError
from kctl.client.http import NO_PLAIN_LOGIN, HttpClient, PlainLogin, http_url, read_json
from kctl.client.masking import without_secrets
from kctl.client.wording import one_line

MOST_TOKEN_CHARS = 64 * 1024
_UNAVAILABLE = (429, *range(500, 600))
"""HTTP statuses of temporary errors. With other statuses, the endpoint rejects the client."""


class ClientCredentials(NamedTuple):
    url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    is_url_encoded: bool = False
    plain_login: PlainLogin = NO_PLAIN_LOGIN

    def __repr__(self) -> str:
        return f"ClientCredentials({self.url}, {self.client_id}, ***)"


class AccessToken(NamedTuple):
    """A token. Attributes: lifetime_ms: lifetime; None if not reported."""

    value: str
    lifetime_ms: int | None

    def __repr__(self) -> str:
        return f"AccessToken(***, {self.lifetime_ms})"


def fetch_token(http: HttpClient, wanted: ClientCredentials, timer: Timer, *, setting: str) -> AccessToken:
    """Return a token from the endpoint, whose URL is in the property `setting`.

    Raises:
        ConfigError: the client secret would be sent as plain text.
        AuthenticationError: the endpoint rejects the client; the message has the reason.
        ConnectionLost: the status is 429, or 500 and above.
        WrongPeerError: the response is not from a token endpoint.
        KafkaError: there is no response, as in HttpClient.request.
    """
    user, password = wanted.client_id, wanted.client_secret
    if wanted.is_url_encoded:
        user, password = quote(user, safe=""), quote(password, safe="")
    form = {"grant_type": "client_credentials", **({} if wanted.scope is None else {"scope": wanted.scope})}
    response = http.request(
        "POST",
        wanted.url,
        timer,
        setting=setting,
        plain_login=wanted.plain_login,
        body=urlencode(form).encode(),
        headers={
            "Authorization": f"Basic {b64encode(f'{user}:{password}'.encode('utf-8', 'surrogateescape')).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        },
    )
    place = http_url(wanted.url).netloc.rpartition("@")[2]
    try:
        found = read_json(response.body)
    except (ValueError, RecursionError):
        found = None
    answered = found if isinstance(found, dict) else {}
    if response.status != 200:
        reason = str(answered.get("error_description") or answered.get("error") or response.reason)
        # HttpClient cannot see where the secret begins: the client ID may contain a colon.
        reason = without_secrets(reason, (wanted.client_secret, password))
        text = f"cannot get a token from {place}: {one_line(reason)[:300]} (HTTP {response.status})"
        raise ConnectionLost(text) if response.status in _UNAVAILABLE else AuthenticationError(text)
    value, lifetime_s = answered.get("access_token"), answered.get("expires_in")
    if not isinstance(value, str) or not 0 < len(value) <= MOST_TOKEN_CHARS:
        raise WrongPeerError(f"the response from the token endpoint {place} has no access_token")
    if not isinstance(lifetime_s, int | float) or isinstance(lifetime_s, bool) or not 0 < lifetime_s < 2**40:
        return AccessToken(value, None)
    return AccessToken(value, int(lifetime_s * 1000))
