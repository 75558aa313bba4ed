"""CandidateRace and AddressRace: the first at once, the next after its head start."""

from kctl.client.clock import FOREVER_MS
from kctl.client.network.races import AddressRace, CandidateRace, interleave
from kctl.client.runtime import Address


def test_candidates_are_staggered() -> None:
    race = CandidateRace(100)
    race.is_running = True
    assert race.is_due(1000, connecting=0)
    race.started(1000)
    assert not race.is_due(1099, connecting=1)
    assert race.is_due(1100, connecting=1)
    assert race.is_due(1001, connecting=0)  # the only one failed: no reason to wait
    assert race.next_deadline_at_ms(may_start=True) == 1100


def test_race_without_candidates_or_waiters_has_no_deadline() -> None:
    race = CandidateRace(100)
    race.started(1000)
    assert race.next_deadline_at_ms(may_start=True) == FOREVER_MS
    race.is_running = True
    assert race.next_deadline_at_ms(may_start=False) == FOREVER_MS


V4 = [Address(f"10.0.0.{n}", 9092) for n in (1, 2, 3)]
V6 = [Address(f"fd00::{n}", 9092, True) for n in (1, 2)]


def test_families_take_turns_the_first_one_first() -> None:
    assert interleave([*V6, *V4]) == [V6[0], V4[0], V6[1], V4[1], V4[2]]
    assert interleave([*V4, *V6]) == [V4[0], V6[0], V4[1], V6[1], V4[2]]
    assert interleave([V4[0], V4[0]]) == [V4[0]]
    assert interleave([]) == []


def test_each_further_address_waits_for_its_head_start() -> None:
    race = AddressRace(V4, 100, 1000, longest_ms=300)
    assert race.pop_due(1000) == V4[0]
    assert race.pop_due(1000) is None
    assert race.next_deadline_at_ms() == 1100
    assert race.pop_due(1099) is None
    assert race.pop_due(1100) == V4[1]
    race.all_failed(1105)
    assert race.pop_due(1105) == V4[2]
    assert race.is_exhausted
    assert race.next_deadline_at_ms() == FOREVER_MS


def test_addresses_are_dialled_once_more_in_turn_with_doubled_waits() -> None:
    race = AddressRace(V4[:2], 100, 0, longest_ms=300)
    assert race.again_at_ms == FOREVER_MS
    assert [race.pop_due(0), race.pop_due(100)] == V4[:2]
    dialled = []
    for _ in range(4):
        at_ms = race.again_at_ms
        dialled.append((at_ms, race.pop_again(at_ms)))
    assert dialled == [(200, V4[0]), (400, V4[1]), (700, V4[0]), (1000, V4[1])]
