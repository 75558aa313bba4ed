"""CandidateRace: one at once, the next after its head start, and silence when nobody waits."""

from kctl.client.clock import FOREVER_MS
from kctl.client.network.candidate_race import CandidateRace


def test_candidates_are_staggered() -> None:
    race = CandidateRace(100)
    race.is_running = True
    assert race.is_due(1000, connecting=0)
    race.started(1000)
    assert not race.is_due(1099, connecting=1)
    assert race.is_due(1100, connecting=1)
    assert race.is_due(1001, connecting=0)  # the only one failed: no reason to wait
    assert race.next_deadline_ms(may_start=True) == 1100


def test_it_wakes_nobody_when_none_is_left_or_none_waits() -> None:
    race = CandidateRace(100)
    race.started(1000)
    assert race.next_deadline_ms(may_start=True) == FOREVER_MS
    race.is_running = True
    assert race.next_deadline_ms(may_start=False) == FOREVER_MS
