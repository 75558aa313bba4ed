"""Rates of groups over several samples: records read and written per second, and the time to catch up."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kctl.cli.groups.lag import PartitionLag
from kctl.client.cluster import TopicPartition

WINDOW_MS = 30_000
LEAST_INTERVALS = 3
MOST_LOOKS = 100
"""Number of samples whose lags are kept, for a line over time."""
TOLERANCE = 0.1
"""Relative difference below which rates count as equal: samples and commits happen at different times."""
Key = tuple[str, TopicPartition]


class LagRates(NamedTuple):
    """Rates of one or several partitions of a group; None if unknown.

    Attributes:
        rate_per_s: growth of the committed offset.
        produced_per_s: growth of the end offset.
        catch_up_ms: time until the lag is 0; None also if the group does not catch up.
    """

    rate_per_s: float | None = None
    produced_per_s: float | None = None
    catch_up_ms: int | None = None


class _Sample(NamedTuple):
    at_ms: int
    committed: int
    end: int


UNKNOWN = LagRates()


class LagSamples:
    """Samples of the last 30 s by partition, because shorter windows may have no commit, and older lags for trends."""

    def __init__(self) -> None:
        self._samples: dict[Key, list[_Sample]] = {}
        self._missing = 0
        self._trends: dict[Key, deque[int | None]] = {}
        self.totals: deque[tuple[int, int]] = deque(maxlen=MOST_LOOKS)
        """Instant in ms and total lag of the last samples."""

    @property
    def are_complete(self) -> bool:
        """Return whether the last sample had rates for all partitions with a known lag."""
        return self._missing == 0

    def trend(self, key: Key) -> Sequence[int | None]:
        """Return the lags of a partition in the last samples."""
        return tuple(self._trends.get(key, ()))

    def add(self, lags: Iterable[PartitionLag], now_ms: int) -> dict[Key, LagRates]:
        """Add a sample, and return the rates of each partition that has enough samples.

        Rates need 30 s or three intervals between commits. Samples are dropped if offsets were reset or truncated.
        """
        rates: dict[Key, LagRates] = {}
        self._missing = 0
        lags = list(lags)
        self._note_trends(lags, now_ms)
        for lag in lags:
            key = lag.group_id, lag.partition
            if lag.committed is None or lag.end is None or lag.lag is None:
                self._samples.pop(key, None)
                continue
            samples = self._samples.setdefault(key, [])
            if samples and (lag.committed < samples[-1].committed or lag.end < samples[-1].end):
                samples.clear()
            samples.append(_Sample(now_ms, lag.committed, lag.end))
            while len(samples) > 2 and samples[1].at_ms <= now_ms - WINDOW_MS:
                del samples[0]
            window = _window(samples)
            if window is None:
                self._missing += 1
                continue
            first, last = window
            seconds = (last.at_ms - first.at_ms) / 1000
            read, written = (last.committed - first.committed) / seconds, (last.end - first.end) / seconds
            rates[key] = LagRates(round(read, 3), round(written, 3), catch_up_ms(lag.lag, read, written))
        return rates

    def _note_trends(self, lags: Sequence[PartitionLag], now_ms: int) -> None:
        now = {(lag.group_id, lag.partition): lag.lag for lag in lags}
        for key in self._trends.keys() - now.keys():
            del self._trends[key]
        for key, lag in now.items():
            self._trends.setdefault(key, deque(maxlen=MOST_LOOKS)).append(lag)
        self.totals.append((now_ms, sum(lag or 0 for lag in now.values())))


def _window(samples: Sequence[_Sample]) -> tuple[_Sample, _Sample] | None:
    """Return the first and last sample for rates, or None if there are too few samples.

    Both are commits, unless the last commit is older than twice the mean interval.
    """
    commits = [now for before, now in pairwise(samples) if now.committed > before.committed]
    if len(commits) <= LEAST_INTERVALS and samples[-1].at_ms - samples[0].at_ms < WINDOW_MS:
        return None
    if len(commits) < 2:
        return samples[0], samples[-1]
    first, last = commits[0], commits[-1]
    between_ms = (last.at_ms - first.at_ms) / (len(commits) - 1)
    return first, samples[-1] if samples[-1].at_ms - last.at_ms > 2 * between_ms else last


def keeps_pace(rates: LagRates) -> bool:
    """Return whether a group reads about as fast as records are written."""
    read, written = rates.rate_per_s or 0, rates.produced_per_s or 0
    return read > 0 and read >= written * (1 - TOLERANCE)


def catch_up_ms(lag: int, read_per_s: float, written_per_s: float) -> int | None:
    """Return the time until the lag is 0, or None if the lag does not shrink."""
    if lag == 0:
        return 0
    gain = read_per_s - written_per_s
    return round(1000 * lag / gain) if gain > 0 else None


def total(lags: Iterable[PartitionLag], rates: dict[Key, LagRates]) -> tuple[int, LagRates]:
    """Return the total lag and total rates. The slowest partition determines the time to catch up."""
    known = [lag for lag in lags if lag.lag is not None]
    lag = sum(each.lag or 0 for each in known)
    found = [rates[key] for each in known if (key := (each.group_id, each.partition)) in rates]
    if not found:
        return lag, UNKNOWN
    read = sum(each.rate_per_s or 0 for each in found)
    written = sum(each.produced_per_s or 0 for each in found)
    times = [each.catch_up_ms for each in found if each.catch_up_ms is not None]
    slowest = max(times) if len(times) == len(known) else None
    return lag, LagRates(round(read, 3), round(written, 3), slowest)
