"""The sandbox's own faults, switched on while a cluster of one node runs."""

import pytest

from kctl.sandbox import Fault, Sandbox
from tests.faultlab.lab import LONG, check, check_waited, run_all

FAULTS_MADE = (
    (Fault.REFUSE, 5),
    (Fault.BLACKHOLE, 7),
    (Fault.SILENCE, 10),
    (Fault.FREEZE, 10),
    (Fault.RESET, 12),
    (Fault.RESET_ON_REQUEST, 12),
)


@pytest.mark.parametrize(("fault", "number"), FAULTS_MADE, ids=lambda value: getattr(value, "value", value))
def test_row(fault: Fault, number: int) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.start_fault(1, fault)
        runs = run_all(served.bootstrap)
    for run in runs.values():
        check(number, run)
        check_waited(run)


def test_an_answer_that_is_late_but_in_time_is_no_fault() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.start_fault(1, Fault.DELAY, ms=100)
        runs = run_all(served.bootstrap, limits=LONG)
    assert {run.code for run in runs.values()} == {0}, runs
