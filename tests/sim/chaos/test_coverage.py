"""Coverage: a pair counts while its fault is on, for the node and the client that it concerns; the rest is missing."""

from tests.sim.chaos.coverage import NEEDED, Coverage, missing
from tests.sim.chaos.plan import Kind


def test_a_fault_counts_for_its_own_link_while_it_is_on() -> None:
    coverage = Coverage()
    coverage.asked("Fetch", 2, "c1")
    coverage.begin(0, "clog", 2, "c1")
    coverage.asked("Fetch", 2, "c1")
    coverage.asked("Fetch", 3, "c1")
    coverage.asked("Fetch", 2, "c2")
    coverage.begin(1, "throttle", 0, "")
    coverage.asked("Metadata", 3, "c2")
    coverage.end(0)
    coverage.asked("Fetch", 2, "c1")
    assert coverage.pairs == {("clog", "Fetch"): 1, ("throttle", "Metadata"): 1, ("throttle", "Fetch"): 1}


def test_fault_that_was_never_met_is_missing() -> None:
    assert missing([]) == list(NEEDED)
    assert missing([pair for pair in NEEDED if pair != ("pause", "Fetch")]) == [("pause", "Fetch")]


def test_needed_coverage_names_only_faults_that_can_be_drawn() -> None:
    assert {fault for fault, _ in NEEDED} <= {kind.value for kind in Kind}
    assert len(set(NEEDED)) == len(NEEDED)
