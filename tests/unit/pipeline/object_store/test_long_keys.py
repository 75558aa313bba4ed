"""Keys that no store allows, and that crash the client library of stores."""

import obstore
import pytest
from obstore.store import MemoryStore

from kctl.pipeline.job_errors import StoreError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store import store
from kctl.pipeline.object_store.store import LONGEST_KEY, ObjectStore

URL = StoreUrl("s3://kafka/x")


def test_listed_key_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = MemoryStore()
    monkeypatch.setattr(store, "_opened", lambda *_: memory)
    obstore.put(memory, "a" * LONGEST_KEY, b"")
    assert [len(each.key) for each in ObjectStore(URL).list()] == [LONGEST_KEY]
    obstore.put(memory, "b" * 70_000, b"")
    with pytest.raises(StoreError, match=r"^s3://kafka/x: the store listed a key of 70000 characters"):
        list(ObjectStore(URL).list())


def test_panic_of_the_library_is_an_error_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with pytest.raises(StoreError, match=r"^s3://kafka/x: the library obstore failed for 'aaa") as caught:
        ObjectStore(URL).read("a" * 70_000)
    assert type(caught.value) is StoreError
    assert len(str(caught.value)) < 500
