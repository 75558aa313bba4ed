"""Limits: which --connect-timeout, --request-timeout and --api-timeout a place should use, and what they would cost.

The method, which docs/pipeline-report.md tells in words:
1. Each node (of requests: each node and API) is judged by itself, so that many fast nodes do not hide a slow one; the
   place's limit is that of its slowest one.
2. Expired attempts are cuts (`spread.py`). Those that waited at least twice as long as the slowest attempt that
   succeeded are taken as outages: no limit would have helped. The others may have been slow only.
3. The wanted quantile is read from the curve, not at the quantile but so far above it that the truth is below with
   95 % certainty (`certainty.py`). With too few samples for that, the slowest one is taken twice.
4. That times the headroom, rounded up to a plain duration. Where the cuts hide the quantile, the limit is twice the
   longest wait in vain, and is marked as a lower bound.
Pure; shown by tests/unit/pipeline/report/test_page.py and, against fleets with a known truth, test_truth.py.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kctl.pipeline.jobs.report.certainty import at_most, slower_to_spare
from kctl.pipeline.jobs.report.spread import Spread

OUTAGE_FACTOR = 2
FEW_SAMPLES_FACTOR = 2
LEAST_CONNECT_MS = 250
"""One dropped packet more or less should not decide; shorter ones gain nothing."""
LEAST_REQUEST_MS = 1000
"""A fetch may be held back for fetch.max.wait.ms (500 ms) though nothing is wrong."""
MOST_CONNECT_MS = 30_000
"""socket.connection.setup.timeout.max.ms: how far the connect limit doubles."""
BACK_OFF_MS = 60
"""reconnect.backoff.ms before the second attempt, with its jitter."""
_PLAIN = (100, 120, 150, 200, 250, 300, 400, 500, 600, 800)


class Wanted(NamedTuple):
    """What limits are to achieve.

    Attributes:
        quantile: the share of healthy attempts that must not expire.
        headroom: by how much a limit is longer than what was seen.
    """

    quantile: float = 0.999
    headroom: float = 1.5


class Sample(NamedTuple):
    """The durations of one node, or of one API at one node, by its name."""

    name: str
    spread: Spread


class Limit(NamedTuple):
    """A limit that is advised.

    Attributes:
        limit_ms: what to set.
        is_lower_bound: whether the samples of any node were cut off too early to tell; it may have to be longer.
        is_certain: whether there were samples enough for the quantile.
        decided_by: the node, or node and API, that needs it.
        seen_ms: what that one needs by the samples, before headroom and rounding.
        samples: attempts that ended; `cuts` those that were given up; `outages` those of them that waited long enough.
        false_expiries: the share of healthy attempts that would expire; `false_expiries_at_most` with 95 % certainty.
    """

    limit_ms: int
    is_lower_bound: bool
    is_certain: bool
    decided_by: str
    seen_ms: int
    samples: int
    cuts: int
    outages: int
    false_expiries: float
    false_expiries_at_most: float


class Limits(NamedTuple):
    """The three limits of a place; None where nothing was seen that could tell. `api` stands on the other two."""

    connect: Limit | None
    request: Limit | None
    api: Limit | None


def advise(connects: Iterable[Sample], requests: Iterable[Sample], wanted: Wanted) -> Limits:
    """Return the limits of a place from the samples of its nodes."""
    connects, requests = list(connects), list(requests)
    connect = _limit(connects, wanted, LEAST_CONNECT_MS)
    request = _limit(requests, wanted, LEAST_REQUEST_MS)
    api = None if connect is None or request is None else _api_limit(connect, request, connects)
    return Limits(connect, request, api)


def round_up_ms(ms: float) -> int:
    """Return the next longer plain duration: 250 ms, 1.2 s, 3 s."""
    scale = 1.0
    while ms > _PLAIN[-1] * scale * 1.25:
        scale *= 10
    while ms < _PLAIN[0] * scale and scale > 0.01:
        scale /= 10
    return next((round(plain * scale) for plain in _PLAIN if plain * scale >= ms), round(1000 * scale))


class _Need(NamedTuple):
    """What one node needs."""

    seen_ms: int
    is_lower_bound: bool
    is_certain: bool

    def padded_ms(self, wanted: Wanted) -> float:
        """Return it with headroom."""
        return self.seen_ms * wanted.headroom * (1 if self.is_certain or self.is_lower_bound else FEW_SAMPLES_FACTOR)


def without_outages(spread: Spread) -> tuple[Spread, int]:
    """Return the samples of a node without its outages, and how many these were; only outages where it never worked."""
    slowest_ms = spread.slowest_ms
    if slowest_ms is None:
        return Spread(), spread.cut_off
    return spread.without_cuts_from(OUTAGE_FACTOR * max(1, slowest_ms))


def _limit(samples: list[Sample], wanted: Wanted, least_ms: int) -> Limit | None:
    living = [Sample(name, without_outages(spread)[0]) for name, spread in samples if spread.ends]
    if not living:
        return None
    needs = [(_need(sample.spread, wanted), sample.name) for sample in living]
    need, name = max(needs, key=lambda each: (each[0].padded_ms(wanted), each[1]))
    limit_ms = round_up_ms(max(least_ms, need.padded_ms(wanted)))
    ended = sum(sample.spread.ended for sample in living)
    cuts = sum(sample.spread.cut_off for sample in living)
    late = sum(sample.spread.later_than(limit_ms) * (sample.spread.ended + sample.spread.cut_off) for sample in living)
    return Limit(
        limit_ms,
        any(each.is_lower_bound for each, _ in needs),
        need.is_certain,
        name,
        need.seen_ms,
        ended,
        cuts,
        sum(without_outages(spread)[1] for _, spread in samples),
        late / (ended + cuts),
        at_most(round(late), ended + cuts),
    )


def _need(spread: Spread, wanted: Wanted) -> _Need:
    rate = 1 - wanted.quantile
    slowest_ms = spread.slowest_ms
    assert slowest_ms is not None
    count = spread.ended + spread.cut_off
    spare = slower_to_spare(count, rate)
    seen_ms = spread.quantile_ms(wanted.quantile if spare is None else 1 - spare / count)
    if seen_ms is None and spare is not None:
        seen_ms = spread.quantile_ms(wanted.quantile)
    if seen_ms is None:
        return _Need(OUTAGE_FACTOR * max(slowest_ms, spread.longest_cut_ms or 0), True, False)
    return _Need(seen_ms if spare is not None else slowest_ms, False, spare is not None)


def _api_limit(connect: Limit, request: Limit, connects: list[Sample]) -> Limit:
    """Return room for one connect that expires, a second with its doubled limit, Metadata, and the request itself."""
    second_ms = min(2 * connect.limit_ms, max(MOST_CONNECT_MS, connect.limit_ms))
    needed_ms = connect.limit_ms + BACK_OFF_MS + second_ms + 2 * request.limit_ms
    return Limit(
        round_up_ms(needed_ms),
        connect.is_lower_bound or request.is_lower_bound,
        connect.is_certain and request.is_certain,
        connect.decided_by,
        needed_ms,
        connect.samples,
        connect.cuts,
        connect.outages,
        _expiries_of_calls(connect.false_expiries, later_share(connects, second_ms)[0], request.false_expiries),
        _expiries_of_calls(
            connect.false_expiries_at_most, later_share(connects, second_ms)[1], request.false_expiries_at_most
        ),
    )


def later_share(samples: list[Sample], ms: int) -> tuple[float, float]:
    """Return the share of healthy attempts that takes longer than `ms`, and what it is at most with 95 % certainty."""
    living = [without_outages(spread)[0] for _, spread in samples if spread.ends]
    count = sum(spread.ended + spread.cut_off for spread in living)
    late = sum(spread.later_than(ms) * (spread.ended + spread.cut_off) for spread in living)
    return (late / count, at_most(round(late), count)) if count else (1.0, 1.0)


def _expiries_of_calls(first: float, second: float, request: float) -> float:
    """Return the share of calls that fail though all is well: both connects expire, or one of two requests does.

    Attempts are taken as independent of each other; what a call does after an expired request is left out.
    """
    return min(1.0, first * second + 2 * request)
