"""SchemaRegistry: client of the REST API of a schema registry, with one method for each request.

Supports Confluent's registry, Apicurio (`/apis/ccompat/v7`), Karapace, and Redpanda. If a URL does not respond, the
next one is used. schema_store.py caches schemas.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote
from uuid import UUID

from kctl.client.clock import Timer
from kctl.client.config import RegistryConfig
from kctl.client.errors import (
    ConfigError,
    KafkaError,
    RequestTimeout,
    TransportError,
    WrongPeerError,
)
from kctl.client.wording import one_line
from kctl.serdes.errors import (
    IncompatibleSchemaError,
    RegistryDeniedError,
    RegistryError,
    RegistryLoginError,
    SchemaError,
    SchemaNotFoundError,
)

if TYPE_CHECKING:
    from kctl.client.http import HttpClient, HttpResponse, PlainLogin
    from kctl.client.network.renewed import Renewal
    from kctl.client.oauth import AccessToken

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
LATEST = "latest"
MOST_SCHEMA_CHARS = 10_000_000
MOST_REFERENCES = 100
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
T = TypeVar("T")


class Reference(NamedTuple):
    """Reference to another schema.

    Attributes:
        name: name in the referencing schema.
        subject, version: location of the other schema.
    """

    name: str
    subject: str
    version: int


class Schema(NamedTuple):
    """Schema in a registry.

    Attributes:
        type: AVRO, PROTOBUF, or JSON.
    """

    type: str
    text: str
    references: tuple[Reference, ...] = ()


class Registered(NamedTuple):
    """Version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema


class SchemaRegistry:
    """Client of a schema registry.

    Args:
        config: URLs and credentials.
        http: sends the requests.
        timer: returns the timer of one call, or of one `one_timeout` block.
    Raises: ConfigError: a URL is missing or invalid.
    """

    def __init__(self, config: RegistryConfig, http: "HttpClient", timer: Callable[[], Timer]) -> None:
        if not config.schema_registry_url:
            name = RegistryConfig.schema_registry_url.name
            raise ConfigError(f"{name} is not set: add -X {name}=URL or set {name} in a profile", key=name)
        self._http = http
        self._timer = timer
        self._shared: Timer | None = None
        self._config = config
        self._servers = [_server_of(url, config) for url in config.schema_registry_url]
        self._renewal: Renewal[AccessToken] | None = None
        """Token of the token endpoint, after the first request."""

    @property
    def url(self) -> str:
        """URL of the current server, without credentials."""
        return self._servers[0].url

    @contextmanager
    def one_timeout(self) -> Iterator[None]:
        """Share the timeout of one call among all requests of the block. In nested blocks, the outermost timeout
        applies.
        """
        outer = self._shared
        self._shared = outer or self._timer()
        try:
            yield
        finally:
            self._shared = outer

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    # --- schemas ------------------------------------------------------------------------------------------------------

    def schema(self, schema: int | UUID, *, serialized: bool = False) -> Schema:
        """Return a schema by ID or GUID.

        Args:
            serialized: return Protobuf as the base64 of a FileDescriptorProto, not as text.
        """
        place = f"/schemas/guids/{schema}" if isinstance(schema, UUID) else f"/schemas/ids/{schema}"
        return _schema_of(self._get(place + ("?format=serialized" if serialized else "")))

    def subjects(self, *, prefix: str = "", deleted: bool = False) -> list[str]:
        """Return the sorted subjects with a prefix. `deleted` includes soft-deleted ones."""
        query = "?deleted=true" if deleted else ""
        return sorted(name for name in _list_of(self._get(f"/subjects{query}"), str) if name.startswith(prefix))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        """Return the sorted versions of a subject. `deleted` includes soft-deleted ones."""
        query = "?deleted=true" if deleted else ""
        return sorted(_list_of(self._get(f"/subjects/{_quoted(subject)}/versions{query}"), int))

    def version(self, subject: str, version: int | str = LATEST, *, serialized: bool = False) -> Registered:
        """Return a version of a subject."""
        query = "?format=serialized" if serialized else ""
        found = self._get(f"/subjects/{_quoted(subject)}/versions/{version}{query}")
        return Registered(subject, _number(found, "version"), _number(found, "id"), _schema_of(found))

    def register(self, subject: str, schema: Schema) -> int:
        """Register a schema and return its ID, or the existing ID if the subject has the schema.

        Raises: IncompatibleSchemaError: the compatibility level of the subject forbids it.
        """
        return _number(self._call("POST", f"/subjects/{_quoted(subject)}/versions", _body_of(schema)), "id")

    def check(self, subject: str, schema: Schema, version: int | str = LATEST) -> tuple[bool, tuple[str, ...]]:
        """Return whether a schema is compatible with a version of a subject, and the incompatibilities."""
        place = f"/compatibility/subjects/{_quoted(subject)}/versions/{version}?verbose=true"
        found = self._call("POST", place, _body_of(schema))
        messages = found.get("messages") if isinstance(found, dict) else None
        texts = tuple(str(each) for each in messages) if isinstance(messages, list) else ()
        return _field(found, "is_compatible", bool), texts

    def delete(self, subject: str, version: int | str | None = None, *, permanent: bool = False) -> list[int]:
        """Delete a subject or one version, softly or permanently. Return the deleted versions."""
        place = f"/subjects/{_quoted(subject)}" + ("" if version is None else f"/versions/{version}")
        found = self._call("DELETE", place + ("?permanent=true" if permanent else ""), None)
        return [found] if isinstance(found, int) else _list_of(found, int)

    def compatibility(self, subject: str | None = None) -> str:
        """Return the compatibility level of a subject, or the global level if the subject has none."""
        place = "/config" if subject is None else f"/config/{_quoted(subject)}?defaultToGlobal=true"
        found = self._get(place)
        return _field(found, "compatibilityLevel", str)

    def set_compatibility(self, level: str, subject: str | None = None) -> None:
        """Set the compatibility level of a subject, or the global level."""
        self._call("PUT", "/config" if subject is None else f"/config/{_quoted(subject)}", {"compatibility": level})

    # --- requests -----------------------------------------------------------------------------------------------------

    def _get(self, place: str) -> Any:
        return self._call("GET", place, None)

    def _call(self, method: str, place: str, body: Mapping[str, object] | None) -> Any:
        timer = self._shared or self._timer()
        failed: KafkaError | None = None
        for server in list(self._servers):
            try:
                response = self._ask(server, method, place, body, timer)
            except (TransportError, RequestTimeout) as e:
                failed = e
                continue
            if response.status >= 500 and server is not self._servers[-1]:
                failed = _refusal(response, server.url, place)
                continue
            if server is not self._servers[0]:  # the next call starts with this server
                self._servers.remove(server)
                self._servers.insert(0, server)
            return _json_of(response, server.url, place)
        assert failed is not None
        raise failed

    def _ask(
        self, server: "_Server", method: str, place: str, body: Mapping[str, object] | None, timer: Timer
    ) -> "HttpResponse":
        used = self._renewal
        response = self._ask_once(server, method, place, body, timer)
        if response.status == 401 and used is not None:  # a token of an earlier request, no longer accepted
            self._renewal = None
            return self._ask_once(server, method, place, body, timer)
        return response

    def _ask_once(
        self, server: "_Server", method: str, place: str, body: Mapping[str, object] | None, timer: Timer
    ) -> "HttpResponse":
        headers = {"Accept": f"{CONTENT_TYPE}, application/json", **server.headers, **self._bearer(timer)}
        content = None
        if body is not None:
            headers["Content-Type"] = CONTENT_TYPE
            content = json.dumps(body).encode()
        url, setting = server.url + place, RegistryConfig.schema_registry_url.name
        plain = self._plain_login()
        return self._http.request(method, url, timer, setting=setting, body=content, headers=headers, plain_login=plain)

    def _plain_login(self) -> "PlainLogin":
        from kctl.client.http import PlainLogin  # deferred import: loads TLS, unused without a registry

        return PlainLogin(
            RegistryConfig.schema_registry_allow_http_login.name, self._config.schema_registry_allow_http_login
        )

    def _bearer(self, timer: Timer) -> dict[str, str]:
        config = self._config
        headers: dict[str, str] = {}
        if config.schema_registry_bearer_auth_logical_cluster is not None:
            headers["target-sr-cluster"] = config.schema_registry_bearer_auth_logical_cluster
        if config.schema_registry_bearer_auth_identity_pool_id is not None:
            headers["Confluent-Identity-Pool-Id"] = config.schema_registry_bearer_auth_identity_pool_id
        if config.schema_registry_bearer_auth_credentials_source == "OAUTHBEARER":
            headers["Authorization"] = f"Bearer {self._token(timer)}"
        elif config.schema_registry_bearer_auth_token is not None:
            headers["Authorization"] = f"Bearer {config.schema_registry_bearer_auth_token}"
        return headers

    def _token(self, timer: Timer) -> str:
        from kctl.client.network.renewed import Renewal  # deferred import: for this login only

        def now_ms() -> int:
            timer.update()
            return timer.now_ms

        renewal: Renewal[AccessToken] = self._renewal or Renewal()
        if renewal.is_due(now_ms()):
            is_valid = renewal.is_valid(timer.now_ms)
            limit = timer.sub(timer.remaining_ms // 2) if is_valid else timer  # leaves time for the request
            renewal.renew(partial(self._fetch_token, limit), now_ms, KafkaError)
            if renewal.error is not None and not renewal.is_valid(now_ms()):
                raise renewal.error
        self._renewal = renewal
        assert renewal.found is not None
        return renewal.found.value

    def _fetch_token(self, timer: Timer) -> "AccessToken":
        from kctl.client.oauth import ClientCredentials, fetch_token  # deferred import: for this login only

        config = self._config
        url = config.schema_registry_bearer_auth_issuer_endpoint_url
        client_id = config.schema_registry_bearer_auth_client_id
        client_secret = config.schema_registry_bearer_auth_client_secret
        if url is None or client_id is None or client_secret is None:
            raise ConfigError(
                "bearer.auth.credentials.source=OAUTHBEARER needs bearer.auth.issuer.endpoint.url, "
                "bearer.auth.client.id and bearer.auth.client.secret",
                key=RegistryConfig.schema_registry_bearer_auth_credentials_source.name,
            )
        scope = config.schema_registry_bearer_auth_scope
        wanted = ClientCredentials(url, client_id, client_secret, scope, plain_login=self._plain_login())
        setting = RegistryConfig.schema_registry_bearer_auth_issuer_endpoint_url.name
        return fetch_token(self._http, wanted, timer, setting=setting)


class _Server(NamedTuple):
    url: str
    headers: Mapping[str, str]


def _basic(user_info: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(user_info.encode('utf-8', 'surrogateescape')).decode()}"}


def _server_of(url: str, config: RegistryConfig) -> _Server:
    name = RegistryConfig.schema_registry_url.name
    from kctl.client.http import http_url  # deferred import: loads TLS, unused without a registry

    try:
        parts = http_url(url)
    except ConfigError as e:
        raise ConfigError(f"{name}: {e}", key=name) from None
    if parts.query or parts.fragment:
        raise ConfigError(f"{name}: a URL with ? or # is not supported", key=name)
    user_info = config.schema_registry_basic_auth_user_info
    if parts.username is not None:
        user_info = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    headers = {} if user_info is None else _basic(user_info)
    return _Server(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/"), headers)


# --- responses --------------------------------------------------------------------------------------------------------


def _json_of(response: "HttpResponse", url: str, place: str) -> Any:
    if not 200 <= response.status < 300:
        raise _refusal(response, url, place)
    from kctl.client.http import read_json  # deferred import: loads TLS, unused without a registry

    try:
        found = read_json(response.body)
        if b"\\u" in response.body:  # rejects lone surrogates
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except (ValueError, RecursionError):
        raise WrongPeerError(
            f"{url}: the response to {place} is not JSON", hint="check that the URL is the URL of a schema registry"
        ) from None


def _code_and_text(response: "HttpResponse") -> tuple[int, str]:
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):
        return 0, response.reason
    if not isinstance(found, dict):
        return 0, response.reason
    code = found["error_code"] if isinstance(found.get("error_code"), int) else 0
    return code, str(found.get("message") or response.reason)


def _refusal(response: "HttpResponse", url: str, place: str) -> RegistryError:
    code, text = _code_and_text(response)
    what = f"{url}: {one_line(text)[:500]} (HTTP {response.status}{f', {code}' if code > 999 else ''})"
    kinds: dict[int, type[RegistryError]] = {
        401: RegistryLoginError,
        403: RegistryDeniedError,
        404: SchemaNotFoundError,
        409: IncompatibleSchemaError,
    }
    hints = {
        401: "set schema.registry.basic.auth.user.info or schema.registry.bearer.auth.token in a file or profile",
        404: "" if code else f"check the URL of the registry, which has no path {place.partition('?')[0]}",
    }
    kind = kinds.get(response.status, RegistryError)
    return kind(what, status=response.status, code=code, hint=hints.get(response.status, ""))


def _field(found: object, name: str, kind: type[T]) -> T:
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, kind):
        raise WrongPeerError(f"the response from the schema registry has no valid {name}")
    return value


def _number(found: object, name: str) -> int:
    number = _field(found, name, int)
    if not 0 <= number < 2**31:
        raise WrongPeerError(f"the response from the schema registry has no valid {name}")
    return number


def _list_of(found: object, kind: type[T]) -> list[T]:
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise WrongPeerError("the response from the schema registry is not a list of the expected values")
    return found


def _schema_of(found: object) -> Schema:
    text = _field(found, "schema", str)
    if len(text) > MOST_SCHEMA_CHARS:
        raise SchemaError(f"the schema has {len(text)} characters, more than the limit of {MOST_SCHEMA_CHARS}")
    assert isinstance(found, dict)
    kind = found.get("schemaType")
    kind = AVRO if kind is None else kind
    references = found.get("references") or []
    if not isinstance(kind, str) or not isinstance(references, list) or len(references) > MOST_REFERENCES:
        raise WrongPeerError("the response from the schema registry has no valid schema")
    return Schema(kind, text, tuple(_reference_of(each) for each in references))


def _reference_of(found: object) -> Reference:
    return Reference(_field(found, "name", str), _field(found, "subject", str), _number(found, "version"))


def _body_of(schema: Schema) -> dict[str, object]:
    body: dict[str, object] = {"schema": schema.text}
    if schema.type != AVRO:
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [reference._asdict() for reference in schema.references]
    return body


def _quoted(subject: str) -> str:
    return quote(subject, safe="")
