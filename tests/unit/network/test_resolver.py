"""ThreadResolver where no thread can be started: with too many of them, or while the interpreter shuts down."""

import threading

import pytest

from kctl.client.network.resolver import ThreadResolver
from kctl.client.runtime import Address


def test_name_is_looked_up_by_the_caller_if_no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    resolver = ThreadResolver(lambda host, port: [Address(f"{host}-ip", port)])
    ended: list[str] = []
    for host in ("one", "two"):
        lookup = resolver.lookup(host, 9092, lambda: ended.append("done"))
        assert (lookup.done, lookup.addresses) == (True, [Address(f"{host}-ip", 9092)])
    assert ended == ["done", "done"]
