"""Coverage of runs: faults that were active during responses of an API, and results of calls."""

from collections import Counter
from collections.abc import Iterable, Sequence

NEEDED = tuple(
    (fault, api)
    for fault, apis in {
        "clog-requests": ("Fetch", "Metadata", "OffsetCommit", "JoinGroup", "Heartbeat", "ConsumerGroupHeartbeat"),
        "clog-responses": ("Fetch", "OffsetCommit", "JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat", "LeaveGroup"),
        "slow": ("Fetch", "ListOffsets", "OffsetFetch", "OffsetCommit", "JoinGroup", "FindCoordinator"),
        "segments": ("Fetch", "OffsetCommit", "JoinGroup"),
        "window": ("Fetch", "OffsetCommit"),
        "pause": ("Fetch", "OffsetCommit", "JoinGroup", "Heartbeat"),
        "silence": ("Fetch", "OffsetCommit", "JoinGroup", "Heartbeat", "Metadata"),
        "delay": ("Fetch", "OffsetCommit", "SyncGroup", "OffsetFetch", "ListOffsets"),
        "trouble": ("OffsetCommit", "OffsetFetch", "JoinGroup", "FindCoordinator", "ConsumerGroupHeartbeat"),
        "no-progress": ("Fetch",),
        "throttle": ("Fetch", "OffsetCommit", "Metadata"),
        "orphan": ("OffsetCommit", "JoinGroup"),
        "drop-answers": ("Fetch", "OffsetCommit", "JoinGroup", "ConsumerGroupHeartbeat", "LeaveGroup"),
        "election": ("Fetch", "ListOffsets", "Metadata"),
        "cut-log": ("Fetch", "OffsetForLeaderEpoch", "ListOffsets"),
        "errors": ("Fetch", "OffsetCommit", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch", "ListOffsets"),
        "stall": ("Fetch",),
    }.items()
    for api in apis
)
"""Pairs that a long run has to meet."""


class Coverage:
    """Pairs of (fault, API) of one run; a fault of a link or node counts for its own link or node alone."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._active: dict[int, tuple[str, int, str]] = {}

    def begin(self, number: int, fault: str, node: int, client: str) -> None:
        self._active[number] = (fault, node, client)

    def end(self, number: int) -> None:
        self._active.pop(number, None)

    def asked(self, api: str, node: int, client: str) -> None:
        for fault, on_node, of_client in self._active.values():
            if on_node in (0, node) and of_client in ("", client):
                self.pairs[fault, api] += 1

    def called(self, what: str, outcome: str) -> None:
        self.outcomes[what, outcome] += 1


def missing(pairs: Iterable[tuple[str, str]], needed: Sequence[tuple[str, str]] = NEEDED) -> list[tuple[str, str]]:
    """Return the needed pairs that are not among those."""
    met = dict.fromkeys(pairs)
    return [pair for pair in needed if pair not in met]
