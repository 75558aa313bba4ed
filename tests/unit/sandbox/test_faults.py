"""The table of faults, and which of several decides."""

import pytest

from kctl.sandbox.faults import EFFECTS, Effect, Fault, NodeFaults, OnConnect, OnRequest


def test_every_fault_has_an_effect_that_a_healthy_node_has_not() -> None:
    assert list(EFFECTS) == list(Fault)
    assert Effect() not in EFFECTS.values()
    assert len(dict.fromkeys(EFFECTS.values())) == len(Fault)


def test_several_faults_and_healing() -> None:
    faults = NodeFaults()
    changes: list[tuple[Fault, ...]] = []
    faults.on_change(lambda: changes.append(faults.active))
    faults.start(Fault.DELAY, ms=50)
    faults.start(Fault.REFUSE)
    faults.start(Fault.BLACKHOLE)
    assert (faults.on_connect, faults.on_request, faults.delay_ms) == (OnConnect.DROP, OnRequest.ANSWER, 50)
    faults.stop(Fault.BLACKHOLE)
    faults.stop(Fault.BLACKHOLE)
    assert faults.on_connect is OnConnect.REFUSE
    faults.start(Fault.FREEZE)
    assert faults.is_frozen
    assert faults.on_request is OnRequest.HOLD
    faults.heal()
    faults.heal()
    assert (faults.on_connect, faults.on_request, faults.delay_ms) == (OnConnect.ACCEPT, OnRequest.ANSWER, 0)
    assert len(changes) == 6
    assert changes[-1] == ()


@pytest.mark.parametrize(("fault", "ms"), [(Fault.DELAY, 0), (Fault.REFUSE, 5)])
def test_milliseconds_belong_to_delay(fault: Fault, ms: int) -> None:
    with pytest.raises(ValueError, match="use ms > 0 for delay only"):
        NodeFaults().start(fault, ms=ms)
