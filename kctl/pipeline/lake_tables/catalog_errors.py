"""Requests to a catalog of Iceberg tables, with a timeout that pyiceberg lacks and one-line errors.

A thread waits for the catalog, and is abandoned at the deadline. Errors omit the catalog URI, which may have a
password.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from kctl.client.clock import Clock, SystemClock, Timer, duration_text
from kctl.client.errors import KafkaError
from kctl.client.masking import LEAST_SECRET_CHARS, without_secrets
from kctl.pipeline.job_errors import (
    LakesMissingError,
    StoreDeniedError,
    StoreError,
    StoreLoginError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from kctl.pipeline.lake_tables.foreign_code import ForeignCodeError
from kctl.pipeline.object_store.store import INSTALL, without_credentials
from kctl.pipeline.running import watch
from kctl.pipeline.store_waits import waiting_for

T = TypeVar("T")
LONGEST_REASON = 300
CURL_TIMEOUT, CURL_NOT_CONNECTED = "28", ("6", "7")
_CURL = re.compile(r"AWS Error NETWORK_CONNECTION .*curlCode: (\d+), ([^;]*)(?:; Details: (.*))?")
"""Connection error of pyarrow, whose file system pyiceberg uses."""
_SECRET = re.compile(
    r"token|credential|secret|password|(?:access|account|api)[.-]key|^header\.|authorization|connection-string",
    re.IGNORECASE,
)


def ended(request: Callable[[], T], name: str, timeout_ms: int, clock: Clock | None = None) -> T:
    """Return the result of a request, or raise its error. Raise StoreTimeoutError after `timeout_ms`."""
    timer = Timer(clock or SystemClock(), timeout_ms)

    def check() -> None:
        timer.update()
        if timer.is_expired:
            raise StoreTimeoutError(f"{name}: the catalog did not respond within {duration_text(timeout_ms)}")

    with waiting_for(f"{name}: no response from the catalog"):
        return watch(request, tick=check)


class Named:
    """Context that converts errors of pyiceberg, its catalog and its file system into errors of kctl.

    Args:
        secrets: strings shown as `***`, because a catalog may repeat them.
    """

    def __init__(self, name: str, secrets: Iterable[str] = ()) -> None:
        self._name = name
        self._secrets = tuple(secrets)

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        passed = KafkaError | CommitFailedException | CommitStateUnknownException
        if error is None or isinstance(error, passed) or not isinstance(error, Exception):
            return
        raise _problem(self._name, error, self.shown(error)) from None

    def shown(self, error: Exception) -> str:
        """Return the text of an error without secrets, not shortened."""
        return without_credentials(without_secrets(str(error).strip(), self._secrets))


def secrets_in(properties: Mapping[str, object]) -> list[str]:
    """Return the secrets in the properties of a catalog, including nested groups.

    For `id:secret` and `Bearer secret`, the part after the separator is included.
    """
    found = list(_secrets_of(properties, ""))
    parts = [each.partition(mark)[2] for each in found for mark in ": "]
    return sorted({each for each in [*found, *parts] if len(each) >= LEAST_SECRET_CHARS}, key=len, reverse=True)


def _secrets_of(properties: Mapping[str, object], group: str) -> Iterator[str]:
    for name, value in properties.items():
        if isinstance(value, Mapping):
            yield from _secrets_of(value, f"{group}{name}.")
        elif _SECRET.search(f"{group}{name}"):
            yield str(value)


def _problem(name: str, error: Exception, text: str) -> KafkaError:
    from pydantic import ValidationError
    from pyiceberg import exceptions
    from requests import exceptions as requests

    reason = (text.splitlines() or ["no reason given"])[0][:LONGEST_REASON]
    if isinstance(error, ForeignCodeError):
        return StoreError(f"{name}: {reason}")
    if isinstance(error, exceptions.NotInstalledError):
        return LakesMissingError(f"{name}: {reason}", INSTALL)
    if isinstance(error, exceptions.UnauthorizedError | exceptions.AuthorizationExpiredError | exceptions.OAuthError):
        return StoreLoginError(f"{name}: the catalog rejected the credentials: {reason}")
    if isinstance(error, exceptions.ForbiddenError):
        return StoreDeniedError(f"{name}: the catalog denied access: {reason}")
    if isinstance(error, exceptions.ServerError | exceptions.ServiceUnavailableError):
        return StoreUnreachableError(f"{name}: the catalog failed: {reason}")
    if isinstance(error, requests.Timeout):
        return StoreTimeoutError(f"{name}: the catalog did not respond in time")
    if isinstance(error, requests.ConnectionError):
        return StoreUnreachableError(f"{name}: cannot connect to the catalog: {_cause(text, reason)}")
    if isinstance(error, ValidationError | requests.JSONDecodeError):
        return StoreError(f"{name}: the server is not an Iceberg catalog")
    if isinstance(error, OSError) and (found := _CURL.search(text)) is not None:
        return _disconnected(name, *found.groups())
    return StoreError(f"{name}: {type(error).__name__}: {reason}")


def _disconnected(name: str, code: str, what: str, more: str) -> StoreError:
    server = re.search(r"(?:connect to|resolve host:|onnection to) ([\w.:\[\]-]+)", more or what)
    where = f" {server[1]}" if server else ""
    if code == CURL_TIMEOUT:
        return StoreTimeoutError(f"{name}: no response in time{where and ' from'}{where}")
    if code in CURL_NOT_CONNECTED:
        return StoreUnreachableError(f"{name}: cannot connect to the object store{where and ' at'}{where}")
    return StoreUnreachableError(f"{name}: the connection to the object store{where and ' at'}{where} failed: {what}")


def _cause(text: str, reason: str) -> str:
    host = re.search(r"host=\'([^\']+)\', port=(\d+)", text)
    why = re.search(r"\[Errno -?\d+\] ([^\'\")]+)", text)
    where = f"{host[1]}:{host[2]}: " if host else ""
    return where + (why[1] if why else reason)
