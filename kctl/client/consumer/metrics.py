"""Counters of a consumer. One thread writes each counter, and all threads read it without a lock."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from kctl.client.consumer.subscription import PartitionState


class NetworkCounts(NamedTuple):
    """Counters of the network thread: Fetch responses, throttle times in ms, and successful commits."""

    fetches: int
    throttle_time_ms: int
    throttle_time_max_ms: int
    commits: int


class PollTimes:
    __slots__ = ("ended_at_ms", "first_at_ms", "inside_ms", "longest_ms", "polls", "started_at_ms")

    def __init__(self) -> None:
        self.polls = 0
        self.first_at_ms = 0
        self.started_at_ms = 0
        self.ended_at_ms = 0
        self.longest_ms = 0
        self.inside_ms = 0

    def began(self, at_ms: int) -> None:
        if self.polls:
            self.longest_ms = max(self.longest_ms, at_ms - self.started_at_ms)
        else:
            self.first_at_ms = at_ms
        self.started_at_ms = at_ms
        self.polls += 1

    def ended(self, at_ms: int) -> None:
        self.inside_ms += at_ms - self.started_at_ms
        self.ended_at_ms = at_ms

    def metrics(self, now_ms: int) -> dict[str, float]:
        gaps, all_ms = self.polls - 1, self.ended_at_ms - self.first_at_ms
        return {
            "last-poll-seconds-ago": (now_ms - self.started_at_ms) / 1000 if self.polls else math.nan,
            "time-between-poll-avg": (self.started_at_ms - self.first_at_ms) / gaps if gaps > 0 else math.nan,
            "time-between-poll-max": self.longest_ms if gaps > 0 else math.nan,
            "poll-idle-ratio-avg": self.inside_ms / all_ms if all_ms > 0 else math.nan,
        }


def network_metrics(counts: NetworkCounts) -> dict[str, float]:
    return {
        "fetch-total": counts.fetches,
        "fetch-throttle-time-avg": counts.throttle_time_ms / counts.fetches if counts.fetches else math.nan,
        "fetch-throttle-time-max": counts.throttle_time_max_ms if counts.fetches else math.nan,
        "commit-total": counts.commits,
    }


def lag_max(states: Iterable[PartitionState]) -> float:
    lags = [
        max(0, end_offset - position)
        for position, end_offset in ((state.position, state.end_offset) for state in states)
        if position is not None and end_offset is not None
    ]
    return max(lags, default=math.nan)
