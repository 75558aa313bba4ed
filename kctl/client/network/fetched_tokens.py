"""FetchedTokens: OAUTHBEARER tokens from a token endpoint or a callback; renewed.py decides when to get them.

Source: KIP-768, KIP-255. Differs: Java has a thread for each login; the network loop starts the helper.
"""

from collections.abc import Callable

from kctl.client.clock import Clock, Timer, duration_text
from kctl.client.config import ClientConfig
from kctl.client.errors import ApiTimeout, AuthenticationError, ConfigError, ConnectTimeout
from kctl.client.network.renewed import Renewed
from kctl.client.oauth import AccessToken, ClientCredentials, fetch_token
from kctl.client.security.sasl.oauthbearer import Token, credentials_of, token_extensions


class FetchedTokens(Renewed[AccessToken]):
    """The token of one client, for all brokers.

    Args:
        fetch: gets a token; may block, and raises KafkaError.
        extensions: SASL extensions to send.
    """

    def __init__(self, fetch: Callable[[], AccessToken], clock: Clock, extensions: dict[str, str]) -> None:
        super().__init__(fetch, clock)
        self._extensions = extensions

    def get_for(self, host: str) -> None:  # noqa: ARG002 - one token is good for every broker
        self.get()

    def current(self) -> Token:
        """Return the current token.

        Raises:
            AuthenticationError: there is no valid token; the message has the reason.
            LoginServerUnavailable: the endpoint did not respond; the next connection retries.
        """
        return Token(self.at_hand("cannot get an OAUTHBEARER token").value, self._extensions)


def fetched_tokens(config: ClientConfig, clock: Clock) -> FetchedTokens | None:
    """Return the tokens of a config with a callback or an HTTP token endpoint, otherwise None.

    Raises: ConfigError: the endpoint's URL, its client id, or its secret is missing or invalid.
    """
    if not config.uses_sasl or config.sasl_mechanism != "OAUTHBEARER":
        return None
    extensions = token_extensions(config)
    callback = config.sasl_oauthbearer_token_callback
    if callback is not None:
        return FetchedTokens(lambda: _of_callback(callback, clock), clock, extensions)
    if config.sasl_oauthbearer_method == "aws_msk_iam":
        region = _region_of(config)
        return FetchedTokens(lambda: _of_aws(config, region, clock), clock, extensions)
    credentials = credentials_of(config)
    if credentials is None:
        return None
    return FetchedTokens(lambda: _of_endpoint(credentials, config, clock), clock, extensions)


def _of_endpoint(credentials: ClientCredentials, config: ClientConfig, clock: Clock) -> AccessToken:
    from kctl.client.http import HttpClient, HttpLimits
    from kctl.client.network.resolver import ThreadResolver
    from kctl.client.security import TlsSettings

    connect_ms = config.sasl_login_connect_timeout_ms or config.socket_connection_setup_timeout_ms
    request_ms = config.sasl_login_read_timeout_ms or config.request_timeout_ms
    http = HttpClient(
        clock,
        ThreadResolver(),
        HttpLimits(connect_ms, request_ms),
        lambda: TlsSettings.from_config(config).context(),
    )
    try:
        timer = Timer(clock, config.socket_connection_setup_timeout_ms)
        setting = ClientConfig.sasl_oauthbearer_token_endpoint_url.name
        return fetch_token(http, credentials, timer, setting=setting)
    except ApiTimeout as e:  # of this timer: getting a token is part of connecting
        text = (
            f"no token within {duration_text(timer.timeout_ms)} (socket.connection.setup.timeout.ms): {e.waiting_for}"
        )
        raise ConnectTimeout(text, limit_ms=timer.timeout_ms, elapsed_ms=e.elapsed_ms) from None
    finally:
        http.close()


def _region_of(config: ClientConfig) -> str:
    host = config.bootstrap_servers[0].host if config.bootstrap_servers else ""
    name, _, domain = host.removesuffix(".").partition(".amazonaws.com")
    region = config.aws_region or (name.rpartition(".")[2] if domain in ("", ".cn") and name != host else "")
    if not region:
        raise ConfigError(
            "aws_msk_iam needs aws.region: the name of the first server contains no region", key="aws.region"
        )
    return region


def _of_aws(config: ClientConfig, region: str, clock: Clock) -> AccessToken:
    from kctl.client.aws_msk import find_credentials, msk_token  # wanted for this login alone
    from kctl.client.network.resolver import ThreadResolver

    return msk_token(find_credentials(config.aws_profile, clock, ThreadResolver()), region, clock.wall_ms())


def _of_callback(callback: Callable[[], object], clock: Clock) -> AccessToken:
    given = callback()
    value, expires_at_s = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(value, str) or not (expires_at_s is None or isinstance(expires_at_s, int | float)):
        raise AuthenticationError("sasl.oauthbearer.token.callback must return a token or (token, expires_at_s)")
    if expires_at_s is None:
        return AccessToken(value, None)
    return AccessToken(value, max(0, int(expires_at_s * 1000) - clock.wall_ms()))
