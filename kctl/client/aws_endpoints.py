"""HTTP client of botocore for AWS's credential services without TLS (instance metadata, containers).

Anybody on the network path can respond, and botocore itself limits neither size nor time.

Source: botocore.utils.InstanceMetadataFetcher, ContainerMetadataFetcher.
"""

from typing import Any

from kctl.client.clock import Clock, Timer
from kctl.client.errors import KafkaError, KafkaTimeoutError
from kctl.client.http import HttpClient, HttpLimits, PlainLogin
from kctl.client.runtime import Resolver

MOST_RESPONSE_BYTES = 256 * 1024
_ALLOWED = PlainLogin("", is_allowed=True)
"""botocore checks that an address without TLS is loopback or link-local."""


def bound_credential_services(session: Any, clock: Clock, resolver: Resolver) -> None:
    """Limit the size and time of responses from the credential services of a botocore session.

    Each request has its fetcher's timeout, from the DNS query to the last byte.
    """
    from botocore.utils import ContainerMetadataFetcher, IMDSFetcher

    for provider in session.get_component("credential_provider").providers:
        fetcher = getattr(provider, "_fetcher", None) or getattr(provider, "_role_fetcher", None)
        if isinstance(fetcher, ContainerMetadataFetcher | IMDSFetcher):
            timeout_s = getattr(fetcher, "_timeout", ContainerMetadataFetcher.TIMEOUT_SECONDS)
            fetcher._session = _BoundedSession(fetcher._session, clock, resolver, int(timeout_s * 1000))


class _BoundedSession:
    """The part of botocore's URLLib3Session that is used, without redirects and proxies.

    Args: secure: session for https, in which the server proves its name.
    """

    def __init__(self, secure: Any, clock: Clock, resolver: Resolver, timeout_ms: int) -> None:
        self._secure = secure
        self._clock = clock
        self._resolver = resolver
        self._timeout_ms = timeout_ms

    def send(self, request: Any) -> Any:
        from botocore.awsrequest import AWSResponse
        from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

        if not request.url.startswith("http://"):
            return self._secure.send(request)
        limits = HttpLimits(self._timeout_ms, self._timeout_ms, MOST_RESPONSE_BYTES)
        http = HttpClient(self._clock, self._resolver, limits, _no_tls)
        try:
            answer = http.request(
                request.method,
                request.url,
                Timer(self._clock, self._timeout_ms),
                setting="the address of the AWS credential service",
                body=None if request.method == "GET" else request.body or b"",
                headers={name: _text(value) for name, value in request.headers.items() if name.lower() != "user-agent"},
                plain_login=_ALLOWED,
            )
        except KafkaTimeoutError as e:
            raise ReadTimeoutError(endpoint_url=request.url, error=e) from None
        except KafkaError as e:
            raise EndpointConnectionError(endpoint_url=f"{request.url} ({e})", error=e) from None
        finally:
            http.close()
        response = AWSResponse(request.url, answer.status, answer.headers, None)
        response._content = answer.body
        return response


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _no_tls() -> Any:
    raise AssertionError("internal error: https requests must use the botocore session")
