"""Suggested timeouts: what they are made of, and how many healthy attempts they expire."""

import pytest

from kctl.cli.probe.report.statistics import NodeStatistics
from kctl.cli.probe.report.timeouts import Timeout, round_up_ms, suggest


def node(*setups: tuple[int, int], expired: tuple[tuple[int, int], ...] = (), fetch: int | None = 5) -> NodeStatistics:
    """Return a node with (duration, count) of its setups, and 4000 fetches."""
    made = NodeStatistics()
    for ms, count in setups:
        for _ in range(count):
            made.setup.complete(ms)
    for ms, count in expired:
        for _ in range(count):
            made.setup.expire(ms)
    for _ in range(4000 if fetch is not None else 0):
        made.request("Fetch").complete(fetch or 0)
    return made


def connect(**nodes: NodeStatistics) -> Timeout:
    found = suggest(nodes).connect
    assert found is not None
    return found


def test_quantile_times_headroom_rounded_up_and_its_false_expiries() -> None:
    found = connect(a=node((10, 10_000 - 15), (400, 10), (900, 5)))
    assert found == Timeout(600, False, False, "a", 10_000, 0, 5 / 10_000)


def test_slowest_node_decides_for_its_place() -> None:
    found = connect(fast=node((10, 100_000)), slow=node((400, 3000)))
    assert (found.timeout_ms, found.decided_by, found.samples) == (600, "slow", 103_000)


def test_least_timeouts() -> None:
    found = suggest({"a": node((1, 5000))})
    assert found.connect is not None
    assert found.request is not None
    assert (found.connect.timeout_ms, found.request.timeout_ms) == (250, 1000)


def test_outages_do_not_lengthen_timeouts() -> None:
    found = connect(a=node((100, 4000), expired=((10_000, 500),)), dead=node(expired=((10_000, 9),), fetch=None))
    assert found == Timeout(250, False, False, "a", 4000, 509, 0.0)


def test_expired_attempts_that_may_have_been_slow_only_make_a_lower_bound() -> None:
    found = connect(a=node((300, 4000), expired=((400, 40),)))
    assert (found.timeout_ms, found.is_lower_bound, found.false_expiries) == (1200, True, 40 / 4040)
    assert (found.samples, found.outages) == (4040, 0)


def test_lower_bound_of_any_node_makes_that_of_its_place() -> None:
    hidden = node((300, 4000), expired=((400, 40),))
    found = connect(a=node((5000, 4000)), b=hidden)
    assert (found.decided_by, found.is_lower_bound) == ("a", True)


def test_few_samples_get_twice_the_slowest() -> None:
    found = connect(a=node((100, 2000), (200, 1)))
    assert (found.timeout_ms, found.has_few_samples) == (600, True)


def test_requests_that_brokers_hold_back_do_not_count() -> None:
    joining = node((10, 4000))
    joining.request("JoinGroup").complete(300_000)
    found = suggest({"a": joining}).request
    assert found is not None
    assert (found.timeout_ms, found.decided_by) == (1000, "Fetch at a")


def test_api_timeout_has_room_for_two_connects_and_two_requests() -> None:
    found = suggest({"a": node((400, 4000), fetch=1600)})
    assert found.api is not None
    assert found.request is not None
    assert found.request.timeout_ms == 2500
    assert found.api.timeout_ms == 8000  # 2 * 600 + 60 + 2 * 2500, rounded up


def test_nothing_measured_suggests_nothing() -> None:
    assert suggest({}) == (None, None, None)
    assert suggest({"a": node(expired=((10, 3),), fetch=None)}) == (None, None, None)
    assert suggest({"a": node((10, 3), fetch=None)})[1:] == (None, None)


@pytest.mark.parametrize(
    ("ms", "rounded"),
    [(1, 1), (249, 250), (250, 250), (251, 300), (801, 1000), (1001, 1200), (8500, 10_000), (11_000, 12_000)],
)
def test_timeouts_are_round_durations(ms: int, rounded: int) -> None:
    assert round_up_ms(ms) == rounded
