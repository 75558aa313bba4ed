"""Counts and latency histograms by place (directory of files) and node, of bounded size."""

import math
from collections.abc import Callable
from typing import TypeVar

Entry = TypeVar("Entry")
Key = TypeVar("Key")

MOST_NODES = 4000
"""Maximum number of nodes in a place."""
MOST_NAMES = 100
"""Maximum number of error names and APIs of a node; the rest counts as OTHERS."""
MOST_SAMPLES = 20
OTHERS = "(others)"
_BUCKET_BITS = 8


def bucket_of(ms: int) -> int:
    """Return the histogram bucket of a duration: 1ms wide below 512ms, then at most 1/256 of the duration."""
    shift = max(0, ms.bit_length() - _BUCKET_BITS - 1)
    return (shift << _BUCKET_BITS) + (ms >> shift)


def bucket_end_ms(bucket: int) -> int:
    shift = max(0, (bucket >> _BUCKET_BITS) - 1)
    return ((bucket - (shift << _BUCKET_BITS) + 1) << shift) - 1


class Histogram:
    """Durations of completed and expired attempts, with at most 12,000 buckets each."""

    def __init__(self) -> None:
        self.completed: dict[int, int] = {}
        self.expired: dict[int, int] = {}

    def complete(self, ms: int) -> None:
        _count(self.completed, bucket_of(ms))

    def expire(self, ms: int) -> None:
        _count(self.expired, bucket_of(ms))

    def add(self, other: "Histogram") -> None:
        for bucket, count in other.completed.items():
            _count(self.completed, bucket, count)
        for bucket, count in other.expired.items():
            _count(self.expired, bucket, count)

    @property
    def slowest_ms(self) -> int | None:
        return bucket_end_ms(max(self.completed)) if self.completed else None

    def quantile_ms(self, share: float, count: int | None = None) -> int | None:
        """Return the duration within which `share` of the attempts completed, or None if fewer completed.

        Args: count: number of attempts; None for the completed attempts.
        """
        rank = max(1, math.ceil(share * (sum(self.completed.values()) if count is None else count) - 1e-9))
        for bucket in sorted(self.completed):
            rank -= self.completed[bucket]
            if rank <= 0:
                return bucket_end_ms(bucket)
        return None

    def longer_than(self, ms: int) -> int:
        return sum(count for bucket, count in self.completed.items() if bucket_end_ms(bucket) > ms)


class NodeStatistics:
    """Statistics of a node (host:port) in one place.

    Attributes:
        setup: time from the DNS query until the connection accepts requests.
        ready, expired, failed: attempts by outcome, without attempts that the client abandoned.
        certificate: seen_at_ms, -not_after_ms and subject of the latest certificate; of several, the first to expire.
    """

    def __init__(self) -> None:
        self.setup = Histogram()
        self.phases: dict[str, Histogram] = {}
        self.requests: dict[str, Histogram] = {}
        self.ready = self.expired = self.failed = 0
        self.errors: dict[str, int] = {}
        self.certificate: tuple[int, int, str] | None = None

    @property
    def attempts(self) -> int:
        return self.ready + self.expired + self.failed

    def phase(self, name: str) -> Histogram:
        return _entry(self.phases, name, MOST_NAMES, Histogram)

    def request(self, api: str) -> Histogram:
        return _entry(self.requests, api, MOST_NAMES, Histogram)

    def count_error(self, name: str, count: int = 1) -> None:
        _count(self.errors, name if name in self.errors or len(self.errors) < MOST_NAMES else OTHERS, count)

    def note_certificate(self, seen_at_ms: int, not_after_ms: int, subject: str) -> None:
        found = (seen_at_ms, -not_after_ms, subject)
        self.certificate = max(self.certificate or found, found)

    def add(self, other: "NodeStatistics") -> None:
        self.setup.add(other.setup)
        for phase, histogram in other.phases.items():
            self.phase(phase).add(histogram)
        for api, histogram in other.requests.items():
            self.request(api).add(histogram)
        for error, count in other.errors.items():
            self.count_error(error, count)
        self.ready += other.ready
        self.expired += other.expired
        self.failed += other.failed
        self.certificate = max(filter(None, (self.certificate, other.certificate)), default=None)


class PlaceStatistics:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeStatistics] = {}
        self.files = self.rounds = self.traces = 0

    def node(self, name: str) -> NodeStatistics:
        return _entry(self.nodes, name, MOST_NODES, NodeStatistics)

    def total(self) -> NodeStatistics:
        total = NodeStatistics()
        for node in self.nodes.values():
            total.add(node)
        return total


class Statistics:
    """Statistics of all files.

    Attributes: bad_samples: file, line (0 for the whole file) and reason of the first invalid lines.
    """

    def __init__(self) -> None:
        self.places: dict[str, PlaceStatistics] = {}
        self.lines = self.bad_lines = 0
        self.bad_samples: list[tuple[str, int, str]] = []

    def note_bad(self, file: str, line: int, reason: str) -> None:
        self.bad_lines += 1
        if len(self.bad_samples) < MOST_SAMPLES:
            self.bad_samples.append((file, line, reason))


def _count(counts: dict[Key, int], key: Key, count: int = 1) -> None:
    counts[key] = counts.get(key, 0) + count


def _entry(known: dict[str, Entry], name: str, most: int, new: Callable[[], Entry]) -> Entry:
    if name not in known:
        name = name if len(known) < most else OTHERS
        known.setdefault(name, new())
    return known[name]
