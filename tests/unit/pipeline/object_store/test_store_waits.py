"""What a thread that waits for an object store reports: the store, and its server without secrets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from obstore.store import MemoryStore

from kctl.client.errors import ConfigError
from kctl.pipeline.lake_tables.delta import DeltaTarget
from kctl.pipeline.locations import DeltaTable, StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts
from kctl.pipeline.store_waits import waits_reported_to


class Waits:
    """What was reported, and what still lasts."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.lasting = 0

    @contextmanager
    def report(self, what: str) -> Iterator[None]:
        self.begun.append(what)
        self.lasting += 1
        try:
            yield
        finally:
            self.lasting -= 1


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Take reports, with a store in memory."""
    monkeypatch.setattr(store, "_opened", lambda *_: MemoryStore())
    found = Waits()
    with waits_reported_to(found.report):
        yield found
    assert found.lasting == 0


@pytest.mark.parametrize(
    ("url", "variable", "address", "where"),
    [
        ("s3://bucket/x", "AWS_ENDPOINT_URL", "http://user:canary@127.0.0.1:9000/a?canary", " from 127.0.0.1:9000"),
        ("s3://bucket/x", "AWS_ENDPOINT_URL_S3", "https://store.example", " from store.example"),
        ("abfs://c@a.dfs.core.windows.net/x", "AZURE_STORAGE_ENDPOINT", "http://[::1]:1", " from [::1]:1"),
        ("gs://bucket/x", "GOOGLE_BASE_URL", "http://127.0.0.1:9", " from 127.0.0.1:9"),
        ("gs://bucket/x", "AWS_ENDPOINT_URL", "http://127.0.0.1:9", ""),
    ],
)
def test_request_is_reported_with_its_store_and_server(
    waits: Waits, monkeypatch: pytest.MonkeyPatch, url: str, variable: str, address: str, where: str
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, address)
    opened = ObjectStore(StoreUrl(url))
    opened.put("a", b"")
    with pytest.raises(FileNotFoundError):
        opened.read("b")
    assert waits.begun == [f"{url}: no response{where}"] * 2


@pytest.mark.parametrize(
    "address",
    ["localhost:9000", "user:canary@127.0.0.1:9000", "http://", "http://h:99999", "http://user:can ary@h", "s3://h"],
)
def test_address_that_is_none_is_refused_by_the_name_of_its_variable(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    for location in (
        lambda: ObjectStore(StoreUrl("s3://b/x")),
        DeltaTarget(DeltaTable("s3://b/x"), StoreTimeouts()).columns,
    ):
        with pytest.raises(ConfigError, match=r"^the value of \$AWS_ENDPOINT_URL is not a URL: use https://HOST:PORT$"):
            location()


def test_request_of_another_thread_is_not_reported(waits: Waits) -> None:
    opened = ObjectStore(StoreUrl("s3://bucket/x"))
    thread = threading.Thread(target=opened.put, args=("a", b""))
    thread.start()
    thread.join()
    assert waits.begun == []
    assert opened.read("a") == b""
