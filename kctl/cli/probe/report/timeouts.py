"""Suggested timeouts of a place, and the share of healthy attempts that would expire.

1. Each node (for requests: each API of each node) needs its quantile. The slowest decides for the place.
2. Expired attempts that waited twice as long as the slowest success of their node were outages and do not count. Other
   expired attempts count as longer than all completed attempts.
3. The quantile is multiplied by the headroom and rounded up. With too few samples, it is twice the slowest success.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kctl.cli.probe.report.statistics import Histogram, NodeStatistics, bucket_end_ms

QUANTILE = 0.999
"""Share of healthy attempts that must not expire."""
HEADROOM = 1.5
HELD_APIS = ("JoinGroup",)
"""Requests that brokers delay on purpose, with a separate timeout."""
LEAST_CONNECT_MS = 250
LEAST_REQUEST_MS = 1000
"""Brokers can delay a fetch for fetch.max.wait.ms (500ms)."""
BACKOFF_MS = 60
"""reconnect.backoff.ms with jitter."""
_ENOUGH_BEYOND = 3
"""Expected samples beyond the quantile, for at least one with 95 % certainty (rule of three)."""
_ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


class Timeout(NamedTuple):
    """Suggested timeout.

    Attributes:
        is_lower_bound: whether the timeout may be too short, because expired attempts hide the quantile.
        decided_by: node, or API and node, that needs the timeout.
        samples: number of attempts without outages.
        outages: number of expired attempts that do not count.
        false_expiries: share of samples that may have taken longer.
    """

    timeout_ms: int
    is_lower_bound: bool
    has_few_samples: bool
    decided_by: str
    samples: int
    outages: int
    false_expiries: float


class Timeouts(NamedTuple):
    """Suggested timeouts of a place; None without measurements."""

    connect: Timeout | None
    request: Timeout | None
    api: Timeout | None


def suggest(nodes: dict[str, NodeStatistics]) -> Timeouts:
    setups = [(name, node.setup) for name, node in nodes.items()]
    requests = [
        (f"{api} at {name}", each)
        for name, node in nodes.items()
        for api, each in node.requests.items()
        if api not in HELD_APIS
    ]
    connect = _suggest(setups, LEAST_CONNECT_MS)
    request = _suggest(requests, LEAST_REQUEST_MS)
    return Timeouts(connect, request, None if connect is None or request is None else _api(connect, request))


def round_up_ms(ms: float) -> int:
    """Return the next round duration, such as 250ms, 1.2s or 3s."""
    scale = 1
    while ms > 10 * scale:
        scale *= 10
    return round(next(each * scale for each in _ROUND if each * scale >= ms))


def _suggest(measured: Iterable[tuple[str, Histogram]], least_ms: int) -> Timeout | None:
    needs: list[tuple[float, str, bool, bool]] = []
    live: list[tuple[Histogram, int]] = []
    outages = 0
    for name, each in measured:
        slowest_ms = each.slowest_ms or 0
        slow = {
            bucket: n for bucket, n in each.expired.items() if each.completed and bucket_end_ms(bucket) < 2 * slowest_ms
        }
        outages += sum(each.expired.values()) - sum(slow.values())
        if not each.completed:
            continue
        count = sum(each.completed.values()) + sum(slow.values())
        seen_ms = each.quantile_ms(QUANTILE, count)
        has_few = count * (1 - QUANTILE) < _ENOUGH_BEYOND
        if seen_ms is None:
            needs.append((2 * max(slowest_ms, bucket_end_ms(max(slow))), name, True, has_few))
        else:
            needs.append((2 * slowest_ms if has_few else seen_ms, name, False, has_few))
        live.append((each, sum(slow.values())))
    if not needs:
        return None
    need_ms, name, _, has_few = max(needs)
    timeout_ms = round_up_ms(max(least_ms, need_ms * HEADROOM))
    samples = sum(sum(each.completed.values()) + slow for each, slow in live)
    late = sum(each.longer_than(timeout_ms) + slow for each, slow in live)
    is_lower_bound = any(each for _, _, each, _ in needs)
    return Timeout(timeout_ms, is_lower_bound, has_few, name, samples, outages, late / samples)


def _api(connect: Timeout, request: Timeout) -> Timeout:
    """Return a timeout that lasts for two connection attempts, a backoff, Metadata and the request."""
    return connect._replace(
        timeout_ms=round_up_ms(2 * connect.timeout_ms + BACKOFF_MS + 2 * request.timeout_ms),
        is_lower_bound=connect.is_lower_bound or request.is_lower_bound,
        has_few_samples=connect.has_few_samples or request.has_few_samples,
        false_expiries=min(1.0, connect.false_expiries**2 + 2 * request.false_expiries),
    )
