"""Catalogs that do not answer, refuse, or answer with something else: an error of its class, by the deadline."""

import re
import socket
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pyiceberg.catalog
import pytest
import requests
from pyarrow.fs import S3FileSystem
from pyiceberg.exceptions import CommitFailedException, UnauthorizedError
from pyiceberg.utils.config import Config

from kctl.pipeline.job_errors import (
    LakesMissingError,
    StoreDeniedError,
    StoreError,
    StoreLoginError,
    StoreMissingError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from kctl.pipeline.lake_tables.catalog_errors import Named, secrets_in
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.lake_tables.table_target import CommitConflictError, Round
from kctl.pipeline.locations import IcebergTable
from kctl.pipeline.object_store.store import StoreTimeouts
from tests.unit.pipeline.lake_tables.test_table_targets import claimed, iceberg_table

# What is left waiting at the deadline is collected at any time.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

TIMEOUTS = StoreTimeouts(500, 500, 500)
ANSWERED = StoreTimeouts()
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SECRET = "sek/1+2=ret \N{LATIN SMALL LETTER E WITH ACUTE}"
Serve = Callable[[bytes, bool], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Answer each request with these bytes, and close the connection, or keep it."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def started(answer: bytes, is_closed: bool) -> str:
        def run() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    held.append(connection)
                    connection.recv(65536)
                    connection.sendall(answer)
                    if is_closed:
                        connection.shutdown(socket.SHUT_WR)  # close() resets it if a part of the request is unread

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield started
    # The thread may still take a connection that the client opened and left.
    listener.shutdown(socket.SHUT_RDWR)
    for each in held:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    listener.close()
    for each in held:
        each.close()


def opened(monkeypatch: pytest.MonkeyPatch, uri: str, timeouts: StoreTimeouts) -> IcebergTarget:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", uri)
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    return IcebergTarget(IcebergTable("lake.db.orders"), timeouts)


@pytest.mark.parametrize(
    "answer", [b"", OK + b"Content-Length: 100000\r\n\r\n[", OK], ids=["nothing", "half", "no end of headers"]
)
def test_catalog_that_does_not_respond_ends_by_the_api_timeout(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    with pytest.raises(StoreTimeoutError, match="the catalog did not respond within 500ms"):
        opened(monkeypatch, f"http://{serve(answer, False)}", TIMEOUTS)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (OK + b"\r\n<html>", StoreError, "the server is not an Iceberg catalog"),
        (b"\0\xff" * 100, StoreUnreachableError, "cannot connect to the catalog"),
        (b"HTTP/1.1 500 X\r\n\r\n{}", StoreUnreachableError, "the catalog failed"),
        (b"HTTP/1.1 503 X\r\n\r\n{}", StoreUnreachableError, "the catalog failed"),
        (b"HTTP/1.1 401 X\r\n\r\n{}", StoreLoginError, "the catalog rejected the credentials"),
        (b"HTTP/1.1 403 X\r\n\r\n{}", StoreDeniedError, "denied access"),
    ],
    ids=["page", "garbage", "500", "503", "401", "403"],
)
def test_answer_of_a_catalog_has_its_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, answer: bytes, error: type[StoreError], words: str
) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        opened(monkeypatch, f"http://ann:sekret@{serve(answer, True)}", ANSWERED)
    assert type(caught.value) is error
    assert "sekret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "error", "words"),
    [
        ("http://ann:sekret@127.0.0.1:1", StoreUnreachableError, "127.0.0.1:1: Connection refused"),
        ("ftp://ann:sekret@h", StoreMissingError, "catalog lake is not configured"),
        ("http://ann:sekret@[h", StoreError, "Failed to parse"),
    ],
)
def test_uri_that_leads_nowhere_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, uri: str, error: type[StoreError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        opened(monkeypatch, uri, ANSWERED)
    assert "sekret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n "])
def test_connection_error_without_a_reason_is_reported(text: str) -> None:
    with (
        pytest.raises(StoreUnreachableError, match=r"^lake: cannot connect to the catalog: no reason given$"),
        Named("lake"),
    ):
        raise requests.ConnectionError(text)


def test_store_of_a_table_that_refuses_connections_is_named_by_its_address() -> None:
    files = S3FileSystem(
        access_key="a", secret_key="b", endpoint_override="127.0.0.1:1", scheme="http", region="us-east-1"
    )
    with (
        pytest.raises(StoreUnreachableError, match=r"^lake: cannot connect to the object store at 127\.0\.0\.1:1$"),
        Named("lake"),
    ):
        files.open_input_stream("kafka/x")


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        (
            "6, Could not resolve hostname; Details: Could not resolve host: h.invalid",
            StoreUnreachableError,
            "at h.inv",
        ),
        ("28, Timeout was reached; Details: x", StoreTimeoutError, "lake: no response in time"),
        ("56, Failure when receiving data", StoreUnreachableError, "failed: Failure when receiving data"),
    ],
)
def test_connection_to_the_store_of_a_table_has_its_error(said: str, error: type[StoreError], words: str) -> None:
    text = f"For key 'x' in bucket 'b': AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: {said}"
    with pytest.raises(error, match=words) as caught, Named("lake"):
        raise OSError(text)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("name", "secret"),
    [("TOKEN", "sekret"), ("CREDENTIAL", "ann:sekret"), ("HEADER__AUTHORIZATION", "Bearer sekret")],
)
def test_secret_that_a_catalog_repeats_is_not_shown(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, name: str, secret: str
) -> None:
    monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", secret)
    answer = b"HTTP/1.1 500 X\r\n\r\nno Bearer sekret, no ann:sekret"
    uri = f"http://{serve(answer, True)}"
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__OAUTH2_SERVER_URI", uri)
    with pytest.raises(StoreUnreachableError, match=r"no (Bearer )?\*\*\*, no (ann:)?\*\*\*") as caught:
        opened(monkeypatch, uri, ANSWERED)
    assert "sekret" not in str(caught.value)


@pytest.mark.parametrize("form", [SECRET, quote(SECRET, safe=""), b64encode(SECRET.encode()).decode(), rf"{SECRET!a}"])
def test_secret_in_another_form_is_not_shown(form: str) -> None:
    with pytest.raises(StoreLoginError) as caught, Named("lake", [SECRET]):
        raise UnauthorizedError(f"{'x' * 290} no {form}")
    assert not re.search("[sS]ek|ret|5zZW|c2Vr", str(caught.value))


def test_secret_in_a_commit_conflict_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = claimed(iceberg_table(tmp_path, monkeypatch))
    assert isinstance(target, IcebergTarget)
    monkeypatch.setattr(target, "_secrets", [SECRET])

    def conflict(*_: object) -> None:
        raise CommitFailedException(f"no {quote(SECRET, safe='')}")

    monkeypatch.setattr(target, "_commit", conflict)
    with pytest.raises(CommitConflictError, match=r"^CommitFailedException: no \*\*\*$"):
        target._append_once(Round(1, (), [], {}, {}), {})


def test_secrets_in_groups_of_properties_are_found() -> None:
    given = {"uri": "http://h", "auth": {"type": "basic", "basic": {"username": "ann", "password": "sekret"}}}
    assert secrets_in({**given, "adls.connection-string": "a=b;c=d"}) == ["a=b;c=d", "sekret"]


def test_database_of_a_catalog_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog.sql", None)
    with pytest.raises(LakesMissingError) as caught:
        opened(monkeypatch, "postgresql://ann:sekret@h/db", ANSWERED)
    assert "sekret" not in str(caught.value)
