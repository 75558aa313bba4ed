"""Minutes of one group keep no more alive than the first ones did; a planted leak is seen. The hour is in sim-long."""

import pytest

from kctl.client.requests.coordinator import Coordinator
from tests.sim.chaos.memory import grown

_LEAK: list[object] = []


@pytest.mark.slow
def test_nothing_grows_in_four_minutes() -> None:
    growths, read = grown(minutes=4, early_minute=1)
    assert growths == []
    assert read > 50


@pytest.mark.slow
def test_a_leak_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    outgoing = Coordinator.outgoing

    def leaking(self: Coordinator, *arguments: object, **named: object) -> object:
        _LEAK.append([arguments])
        return outgoing(self, *arguments, **named)  # type: ignore[arg-type]  # whatever it is called with

    monkeypatch.setattr(Coordinator, "outgoing", leaking)
    growths, _ = grown(minutes=3, early_minute=1)
    _LEAK.clear()
    assert growths
