"""Rates of groups between two looks: records read and written a second, and the time to catch up.

Pure.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kctl.cli.groups.lag import PartitionLag
from kctl.client.cluster import TopicPartition

Key = tuple[str, TopicPartition]


class LagRates(NamedTuple):
    """Rates of one partition of a group, or of several together; None before the second look, or where not known.

    Attributes:
        rate_per_s: how far the committed offset moved.
        produced_per_s: how far the end of the log moved.
        catch_up_ms: until the lag is 0 at these rates; None where the group does not gain on it.
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
    """The last look at each partition."""

    def __init__(self) -> None:
        self._samples: dict[Key, _Sample] = {}

    def add(self, lags: Iterable[PartitionLag], now_ms: int) -> dict[Key, LagRates]:
        """Take one look, and return the rates since the one before.

        A position that was moved back, and a log that was cut, have no rate.
        """
        rates: dict[Key, LagRates] = {}
        for lag in lags:
            key = lag.group_id, lag.partition
            if lag.committed is None or lag.end is None or lag.lag is None:
                self._samples.pop(key, None)
                continue
            before = self._samples.get(key)
            now = self._samples[key] = _Sample(now_ms, lag.committed, lag.end)
            if before is not None and now.committed >= before.committed and now.end >= before.end:
                seconds = (now_ms - before.at_ms) / 1000
                if seconds > 0:
                    read, written = (now.committed - before.committed) / seconds, (now.end - before.end) / seconds
                    rates[key] = LagRates(round(read, 3), round(written, 3), catch_up_ms(lag.lag, read, written))
        return rates


def catch_up_ms(lag: int, read_per_s: float, written_per_s: float) -> int | None:
    """Return when the lag is gone at these rates; None where it never is."""
    if lag == 0:
        return 0
    gain = read_per_s - written_per_s
    return round(1000 * lag / gain) if gain > 0 else None


def total(lags: Iterable[PartitionLag], rates: dict[Key, LagRates]) -> tuple[int, LagRates]:
    """Return the lag of all partitions together, and their rates; it is gone when that of the slowest is."""
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
