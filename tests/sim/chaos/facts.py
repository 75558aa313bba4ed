"""Facts in a history so far: logs, commits, phase, faults, and identities. Rules read them and never change them."""

from bisect import bisect_right
from typing import Any, Generic, TypeVar

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.history import CLUSTER, Entry

V = TypeVar("V")


class Timeline(Generic[V]):
    """A value that changes with time."""

    def __init__(self, first: V) -> None:
        self._times = [0]
        self._values = [first]

    def set(self, at_ms: int, value: V) -> None:
        self._times.append(at_ms)
        self._values.append(value)

    @property
    def now(self) -> V:
        return self._values[-1]

    def at(self, at_ms: int) -> V:
        """Return the value before the changes at an instant."""
        return self._values[max(0, bisect_right(self._times, at_ms - 1) - 1)]

    def since(self, at_ms: int) -> list[V]:
        """Return every value that it had from that instant on."""
        return self._values[max(0, bisect_right(self._times, at_ms - 1) - 1) :]


class Facts:
    """The cluster as the history tells it."""

    def __init__(self) -> None:
        self.phase = "chaos"
        self.starts: dict[TopicPartition, Timeline[int]] = {}
        self.ends: dict[TopicPartition, Timeline[int]] = {}
        self.commits: dict[tuple[str, TopicPartition], Timeline[int | None]] = {}
        self.recreated: dict[str, int] = {}
        """Topics that were deleted, and when last: an offset may mean another record since."""
        self.cuts: dict[TopicPartition, list[int]] = {}
        """End of each log after each truncation."""
        self.blind: dict[tuple[str, TopicPartition], list[range]] = {}
        """Offsets that were committed without a leader epoch and then truncated, which nobody can detect; by group."""
        self.groups: dict[str, str] = {}
        self.properties: dict[str, dict[str, Any]] = {}
        """Properties by proc, with `group` and `member` in addition to Kafka's."""
        self.faults: list[tuple[int, int]] = []
        """Start and end of each fault."""
        self.healed_at_ms = 0
        self._epochs: dict[tuple[str, TopicPartition], int] = {}
        """The leader epoch of each last commit, -1 without."""

    def start_of(self, tp: TopicPartition) -> Timeline[int]:
        return self.starts.setdefault(tp, Timeline(0))

    def end_of(self, tp: TopicPartition) -> Timeline[int]:
        return self.ends.setdefault(tp, Timeline(0))

    def commits_of(self, group: str, tp: TopicPartition) -> Timeline[int | None]:
        return self.commits.setdefault((group, tp), Timeline(None))

    def policy(self, proc: str) -> str:
        """auto.offset.reset of a consumer."""
        return str(self.properties[proc].get("auto.offset.reset", "latest"))

    def is_eager(self, proc: str) -> bool:
        """Return whether a member gives up all partitions in each rebalance."""
        strategy = self.properties[proc].get("partition.assignment.strategy", "")
        return strategy in ("range", "roundrobin", "sticky")

    def has_ids(self, proc: str) -> bool:
        """Return whether a member knows its topics by ID."""
        return bool(self.properties[proc]["member"]) and self.properties[proc].get("group.protocol") == "consumer"

    def is_quiet(self, since_ms: int) -> bool:
        """Return whether no fault was active since then."""
        return all(end_ms < since_ms for _, end_ms in self.faults)

    def see(self, entry: Entry) -> None:
        """Take one entry in, after the rules have seen it."""
        if entry.what == "born":
            self.groups[entry.proc] = entry.value["group"]
            self.properties[entry.proc] = entry.value
        if entry.proc == CLUSTER and entry.kind == "event":
            self._of_cluster(entry)

    def _of_cluster(self, entry: Entry) -> None:
        match entry.what:
            case "append":
                tp, first, count = entry.value
                self.end_of(tp).set(entry.at_ms, first + count)
            case "trim":
                self.start_of(entry.value[0]).set(entry.at_ms, entry.value[1])
            case "deleted":
                self._deleted(entry.value, entry.at_ms)
            case "commit":
                group, tp, offset, _, epoch = entry.value
                self.commits_of(group, tp).set(entry.at_ms, offset)
                self._epochs[group, tp] = epoch
                if epoch < 0:
                    self.is_set_blindly(group, tp, offset)
            case "cut":
                tp, end = entry.value
                self._cut(tp, end, entry.at_ms)
            case "fault":
                self.faults.append((entry.at_ms, entry.at_ms + max(1, entry.value["duration_ms"])))
            case "heal":
                self.healed_at_ms = entry.at_ms
                self.faults = [(begin_ms, min(end_ms, entry.at_ms)) for begin_ms, end_ms in self.faults]
                self.phase = "heal"
            case "stable" | "over":
                self.phase = entry.what

    def _cut(self, tp: TopicPartition, end: int, at_ms: int) -> None:
        self.end_of(tp).set(at_ms, end)
        self.cuts.setdefault(tp, []).append(end)
        for (group, committed_tp), committed in self.commits.items():
            offset = committed.now
            if committed_tp == tp and offset is not None and offset > end and self._epochs[group, tp] < 0:
                self.is_blind(group, tp, range(end, offset))

    def is_set_blindly(self, group: str, tp: TopicPartition, offset: int) -> None:
        """Take note of a commit or seek without an epoch: the offset may be one of what a cut has taken."""
        for end in self.cuts.get(tp, ()):
            if end < offset:
                self.is_blind(group, tp, range(end, offset))

    def is_blind(self, group: str, tp: TopicPartition, offsets: range) -> None:
        """Take note of offsets that a group may miss."""
        self.blind.setdefault((group, tp), []).append(offsets)

    def cuts_before(self, tp: TopicPartition, offset: int) -> int:
        """Return the number of truncations before the current record at an offset was written."""
        return max((number for number, end in enumerate(self.cuts.get(tp, ()), 1) if end <= offset), default=0)

    def _deleted(self, topic: str, at_ms: int) -> None:
        self.recreated[topic] = at_ms
        for timelines in (self.starts, self.ends):
            for tp, timeline in timelines.items():
                if tp.topic == topic:
                    timeline.set(at_ms, 0)
        for (_, tp), committed in self.commits.items():
            if tp.topic == topic:
                committed.set(at_ms, None)
