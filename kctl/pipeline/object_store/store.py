"""ObjectStore: requests of an export to S3, Google Cloud Storage or Azure, each with a timeout.

obstore is one library for all three services, and its `create` is a conditional put. Each process gets credentials,
region and endpoint from the environment, as the services' own tools do (AWS_*, GOOGLE_*, AZURE_*, profiles). The driver
never sends them to tasks.
"""

import io
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from kctl.client.clock import SystemClock, Timer, duration_text
from kctl.client.config import ConsumerConfig
from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import (
    LakesMissingError,
    StoreDeniedError,
    StoreError,
    StoreLoginError,
    StoreMissingError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.running import watch
from kctl.pipeline.store_waits import waiting_for

INSTALL = "install the extra lakes with: pip install '.[lakes]' (in a checkout of kctl) or pip install 'WHEEL[lakes]'"
PART_BYTES = 8 * 1024 * 1024
"""Size of the parts of an upload. Each part is a request with a separate timeout."""
PARTS_AT_ONCE = 2
LARGEST_READ_BYTES = 64 * 1024 * 1024
READ_AHEAD_BYTES = 1024 * 1024
CHUNK_BYTES = 256 * 1024
"""Size of the chunks of a response body. The size limit is checked after each chunk."""
MOST_OBJECTS = 10_000_000
"""Maximum number of objects in a list, as protection against a faulty store."""
LONGEST_KEY = 1024
"""Maximum number of characters of a listed key. S3 and Google Cloud Storage allow 1024 bytes, Azure 1024 characters."""
MOST_RETRIES = 1000
"""Maximum number of retries, which the API timeout always limits first."""
BACKOFF_MS, MOST_BACKOFF_MS = 100, 2000
_LOGIN_CODES = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "AuthFailure",
    "InvalidClientTokenId",
)
_METADATA_SERVICES = ("169.254.169.254", "metadata.google.internal", "169.254.170.2")
_ALLOW_HTTP = {"gs": "GOOGLE_ALLOW_HTTP", "abfs": "AZURE_ALLOW_HTTP", "abfss": "AZURE_ALLOW_HTTP"}
"""Variables that allow requests without TLS, which may contain tokens. S3 requests contain only signatures."""
_SERVICE = re.compile(r"(s3|gs|abfss?)://")
_AUTHORITY = re.compile(r"https?://(?:[^/?#\s]*@)?([^/?#@\s]+)")
"""Host and port of a URL. The rest may have a signature or a password."""
_ENDPOINT = re.compile(rf"performing [A-Z]+ {_AUTHORITY.pattern}")
"""Endpoint of the request in an error text."""
_AZURE_ENDPOINTS = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("GOOGLE_BASE_URL",),
    "abfs": _AZURE_ENDPOINTS,
    "abfss": _AZURE_ENDPOINTS,
}
"""Variables with the address of a service. The first one that is set applies."""
_TREE = re.compile(r"\s*(?:\x1b\[\d+m)?↳(?:\x1b\[0m)?\s*")
"""Separator between an error of delta-rs and its cause."""
T = TypeVar("T")

ABSENT = "_kctl/no-object-has-this-name"


class StoreTimeouts(NamedTuple):
    """Timeouts of one request, one connection, and all attempts of a call."""

    request_ms: int = 30_000
    connect_ms: int = 10_000
    api_ms: int = 60_000

    @property
    def attempt_ms(self) -> int:
        """Timeout of one attempt, which leaves time for a second attempt."""
        return min(self.request_ms, self.api_ms - self.api_ms // 4)

    @property
    def retry_ms(self) -> int:
        """Time after which no further attempt starts."""
        return max(0, self.api_ms - self.attempt_ms)

    @classmethod
    def of(cls, properties: Mapping[str, object]) -> "StoreTimeouts":
        """Return the timeouts of Kafka properties. Secrets may be unresolved references."""
        names = ("request.timeout.ms", "socket.connection.setup.timeout.ms", "default.api.timeout.ms")
        config = ConsumerConfig.parse(
            {"bootstrap.servers": "unused:1", **{name: properties[name] for name in names if name in properties}}
        )
        return cls(config.request_timeout_ms, config.socket_connection_setup_timeout_ms, config.default_api_timeout_ms)


class StoredObject(NamedTuple):
    key: str
    size_bytes: int
    modified_ms: int


class ObjectStore:
    """Objects below one URL. Thread-safe. Ctrl-C interrupts a waiting main thread immediately.

    Raises: StoreError and its subclasses, LakesMissingError: from every method.
    """

    def __init__(self, url: StoreUrl, timeouts: StoreTimeouts | None = None) -> None:
        self.url = url
        self.timeouts = timeouts or StoreTimeouts()
        self._wait = no_response(url)
        self._store = _opened(url, self.timeouts)

    def create(self, key: str, content: bytes) -> None:
        """Write an object that does not exist.

        A request whose response was lost is sent again, so equal content counts as success.

        Raises: FileExistsError: the object exists with other content.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def put_new() -> bool:
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        if not self._run(put_new, key) and self.read(key) != content:
            raise FileExistsError(f"{self.url}/{key}")

    def put(self, key: str, content: bytes) -> None:
        import obstore

        self._run(lambda: obstore.put(self._store, key, content, use_multipart=False), key)

    def upload(self, key: str, path: Path) -> None:
        """Write a file as an object, which becomes visible when complete."""
        import obstore

        self._run(
            lambda: obstore.put(self._store, key, path, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE), key
        )

    def read(self, key: str) -> bytes:
        """Return the content of a small object.

        Raises: FileNotFoundError: it does not exist.
        """
        import obstore

        def get() -> bytes:
            found = obstore.get(self._store, key)
            if found.meta["size"] > LARGEST_READ_BYTES:
                raise StoreError(f"{self.url}/{key} has {found.meta['size']} bytes, which is too large for a manifest")
            return self._content(found, found.meta["size"], key)

        return self._run(get, key)

    def head(self, key: str) -> StoredObject:
        """Return the size and time of an object.

        Raises: FileNotFoundError: it does not exist.
        """
        import obstore

        return self._stored(self._run(lambda: obstore.head(self._store, key), key))

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below a prefix in the order of their keys."""
        import obstore

        pages, count = iter(obstore.list(self._store, prefix or None)), 0
        while (page := self._run(lambda: next(pages, None), prefix, self._list_limit())) is not None:
            count += len(page)
            if count > MOST_OBJECTS:
                raise StoreError(f"{self.url} has more than {MOST_OBJECTS} objects, the limit of kctl")
            yield from map(self._stored, page)
        if not count:
            self._check_is_store()

    def _stored(self, meta: Any) -> StoredObject:
        key = str(meta["path"])
        if len(key) > LONGEST_KEY:
            raise StoreError(
                f"{self.url}: the store listed a key of {len(key)} characters, which is over the limit of {LONGEST_KEY}"
            )
        return StoredObject(key, int(meta["size"]), int(meta["last_modified"].timestamp() * 1000))

    def _list_limit(self) -> Callable[[], None]:
        """Return a check that raises if a list takes too long, because a list may have endless empty pages."""
        timer = Timer(SystemClock(), self.timeouts.api_ms)

        def check() -> None:
            timer.update()
            if timer.is_expired:
                raise StoreTimeoutError(
                    f"{self.url}: the store did not list an object within {duration_text(timer.timeout_ms)}"
                )

        return check

    def _check_is_store(self) -> None:
        """Raise StoreError if an object exists under any name. Pages of proxies and logins parse as empty lists."""
        try:
            self.head(ABSENT)
        except (FileNotFoundError, StoreDeniedError):
            return
        raise StoreError(
            f"{self.url}: the endpoint is not an object store, because it reports objects that do not exist",
            "set $AWS_ENDPOINT_URL to the address of the object store",
        )

    def copy(self, key: str, to: str) -> None:
        """Copy an object within the store.

        Raises: FileNotFoundError: it does not exist.
        """
        import obstore

        self._run(lambda: obstore.copy(self._store, key, to), key)

    def delete(self, *keys: str) -> None:
        """Delete objects, and ignore missing ones. S3 deletes up to 1000 objects in one request, Azure 256."""
        import obstore

        if not keys:
            return
        try:
            self._run(lambda: obstore.delete(self._store, keys), keys[0] if len(keys) == 1 else "")
        except FileNotFoundError:  # such a store does not delete the objects after the first
            if len(keys) > 1:
                for key in keys:
                    self.delete(key)

    def open(self, key: str, size_bytes: int) -> io.BufferedReader:
        return io.BufferedReader(_Ranges(self, key, size_bytes), READ_AHEAD_BYTES)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Return a byte range of an object.

        Raises: FileNotFoundError: it does not exist.
        """
        import obstore

        def get() -> bytes:
            return self._content(obstore.get(self._store, key, options={"range": (start, end)}), end - start, key)

        return self._run(get, key)

    def _content(self, found: Any, most_bytes: int, key: str) -> bytes:
        chunks, size_bytes = [], 0
        for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
            chunks.append(chunk)
            size_bytes += len(chunk)
            if size_bytes > most_bytes:
                what = f"the store sent more than the requested {most_bytes} bytes"
                raise StoreError(f"{self.url}/{key}: {what}")
        return b"".join(chunks)

    def _run(self, call: Callable[[], T], key: str, tick: Callable[[], None] | None = None) -> T:
        from obstore.exceptions import BaseError

        is_watched = tick is not None or threading.current_thread() is threading.main_thread()
        try:
            with waiting_for(self._wait):
                return watch(call, tick=tick) if is_watched else call()
        except (BaseError, OSError, TimeoutError) as e:
            raise self._named(e, key) from None
        except BaseException as e:
            if type(e).__name__ != "PanicException":  # obstore does not export the class
                raise
            raise StoreError(
                f"{self.url}: the library obstore failed for {key[:100]!r}: {first_line(str(e))}"
            ) from None

    def _named(self, error: BaseException, key: str) -> BaseException:
        problem = store_problem(error, f"{self.url}/{key}".rstrip("/"))
        is_missing = isinstance(error, FileNotFoundError) and not isinstance(problem, StoreMissingError)
        return FileNotFoundError(f"{self.url}/{key}") if is_missing else problem


class _Ranges(io.RawIOBase):
    """An object as a raw file. Buffer it, because each read is a request."""

    def __init__(self, store: ObjectStore, key: str, size_bytes: int) -> None:
        self._store = store
        self._key = key
        self._size = size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        content = self._store.read_range(self._key, self._at, end)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def readall(self) -> bytes:
        end = max(self._at, self._size)
        if end - self._at > LARGEST_READ_BYTES:
            what = f"cannot read {end - self._at} bytes in one request: the limit is {LARGEST_READ_BYTES}"
            raise StoreError(f"{self._store.url}/{self._key}: {what}")
        content = self._store.read_range(self._key, self._at, end) if end > self._at else b""
        self._at += len(content)
        return content


def no_response(url: StoreUrl) -> str:
    server = _AUTHORITY.match(endpoint_of(url))
    return f"{url}: no response{f' from {server[1]}' if server else ''}"


def endpoint_of(url: StoreUrl) -> str:
    """Return the address of a store's server from the environment, or an empty string."""
    names = _ENDPOINTS.get(url.partition(":")[0], ())
    name = next((name for name in names if os.environ.get(name)), "")
    if not name:
        return ""
    if not _is_address(os.environ[name]):
        raise ConfigError(f"the value of ${name} is not a URL: use https://HOST:PORT")
    return os.environ[name]


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # parsed on access
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and re.search(r"[^!-~]", text) is None


def allows_http(url: StoreUrl) -> bool:
    """Return whether requests may be sent without TLS. S3's address decides, and for other services a variable."""
    variable = _ALLOW_HTTP.get(url.partition(":")[0])
    if variable is None:
        return endpoint_of(url).startswith("http://")
    return os.environ.get(variable, "").lower() == "true"


def check_lakes(*modules: str) -> None:
    """Raise LakesMissingError, with an install command, if a module is missing."""
    from importlib.util import find_spec

    for module in modules:
        if find_spec(module) is None:
            raise LakesMissingError(f"{module} is not installed", INSTALL)


def without_credentials(text: str) -> str:
    """Return a text without the users, passwords and queries of its URLs."""
    return re.sub(r"(://[^\s?#'\"]*)[?#][^\s'\"]*", r"\1", re.sub(r"://\S*@", "://", text))


def first_line(text: str) -> str:
    return "".join(without_credentials(text).splitlines()[:1])[:300]


def store_problem(error: BaseException, what: str) -> StoreError:
    """Return an error of obstore as one line with the resource and the reason."""
    text = _TREE.sub(": ", str(error))
    code = re.search(r"<Code>(\w+)</Code>", text)
    status = re.search(r"status code: (\d{3} ?[A-Za-z ]*)", text)
    kind = re.search(r"kind: (\w+),\s*source", text)
    attempts = re.search(r"after (\d+) retries", text)
    more = f" ({attempts[1]} retries)" if attempts and attempts[1] != "0" else ""
    endpoint = _ENDPOINT.search(text)
    name = type(error).__name__
    if any(service in text for service in _METADATA_SERVICES):
        hint = "set the environment variables of the service, such as AWS_ACCESS_KEY_ID or AWS_PROFILE"
        return StoreLoginError(f"{what}: no credentials found", hint)
    if code is not None and code[1] in ("NoSuchBucket", "ContainerNotFound"):
        return StoreMissingError(f"{what}: the bucket does not exist")
    reason = code[1] if code is not None else status[1].strip() if status is not None else ""
    if reason in _LOGIN_CODES or name == "UnauthenticatedError":
        return StoreLoginError(f"{what}: the object store rejected the credentials: {reason or 'unauthenticated'}")
    if name == "PermissionDeniedError" or reason == "AccessDenied":
        return StoreDeniedError(f"{what}: the object store denied access")
    if (kind is not None and kind[1] == "Timeout") or "timed out" in text:
        return StoreTimeoutError(f"{what}: no response in time{f' from {endpoint[1]}' if endpoint else ''}{more}")
    if (kind is not None and kind[1] == "Connect") or "client error (Connect)" in text:
        where = f" at {endpoint[1]}" if endpoint else ""
        return StoreUnreachableError(f"{what}: cannot connect to the object store{where}{more}")
    if "redirect without LOCATION" in text:
        return StoreError(f"{what}: the bucket is in another region", "set AWS_REGION to the region of the bucket")
    if "builder error" in text and "http://" in text:
        return StoreError(f"{what}: the server does not use TLS", _no_tls_hint(what))
    if status is not None and status[1].startswith(("5", "429")):
        return StoreUnreachableError(f"{what}: the object store responded {status[1].strip()}{more}")
    return StoreError(f"{what}: {reason or first_line(text) or name}{more}")


def _no_tls_hint(what: str) -> str:
    service = _SERVICE.search(what)
    variable = _ALLOW_HTTP.get(service[1]) if service else None
    setting = "AWS_ENDPOINT_URL=http://HOST:PORT" if variable is None else f"{variable}=true"
    return f"to allow connections without TLS, set {setting} in the environment. Otherwise, use an https:// address"


def _opened(url: StoreUrl, timeouts: StoreTimeouts) -> Any:
    check_lakes("obstore")
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    request_ms = timeouts.attempt_ms
    options: dict[str, Any] = {
        "connect_timeout": timedelta(milliseconds=min(timeouts.connect_ms, request_ms)),
        "timeout": timedelta(milliseconds=request_ms),
        "allow_http": allows_http(url),
    }
    retries: dict[str, Any] = {
        "max_retries": MOST_RETRIES,
        "retry_timeout": timedelta(milliseconds=timeouts.retry_ms),
        "backoff": {
            "init_backoff": timedelta(milliseconds=BACKOFF_MS),
            "max_backoff": timedelta(milliseconds=MOST_BACKOFF_MS),
            "base": 2,
        },
    }
    more: dict[str, Any] = {"client_options": options, "retry_config": retries}
    if url.startswith("s3:"):
        if (provider := _profile()) is not None:
            more["credential_provider"] = provider
        if "AWS_UNSIGNED_PAYLOAD" not in os.environ:
            more["unsigned_payload"] = not options["allow_http"]  # TLS protects the content, as in AWS's tools
    open_store: Any = from_url
    try:
        return open_store(str(url), **more)
    except (BaseError, ValueError) as e:
        raise store_problem(e, url) from None


def _profile() -> Any:
    if not os.environ.get("AWS_PROFILE") or os.environ.get("AWS_ACCESS_KEY_ID"):
        return None
    check_lakes("boto3")
    import boto3
    import botocore.exceptions
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        return Boto3CredentialProvider(boto3.session.Session(profile_name=os.environ["AWS_PROFILE"]))
    except (botocore.exceptions.BotoCoreError, ValueError) as e:
        raise StoreLoginError(f"cannot use profile {os.environ['AWS_PROFILE'][:100]!r} of $AWS_PROFILE: {e}") from None


def hidden_key(key: str) -> str:
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}.{name}"


def shown_key(key: str) -> str:
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}{name.removeprefix('.')}"
