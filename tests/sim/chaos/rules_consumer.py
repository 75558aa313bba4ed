"""Rules C1 to C15: records, positions, and commits of consumers.

| id | rule |
|---|---|
| C1 poll-skip | an assignment skips no record, except by retention; after a truncation, reading continues or resets |
| C2 nonmonotonic-poll | no record is repeated, except after a seek or a truncation |
| C3 int-poll-skip | C1 and C2 hold between two runs of one poll |
| C4 not-owned | only owned and unpaused partitions return records |
| C5 position | position() is the offset after the last returned record |
| C6 committed-too-far | commits cover only records that the application received before |
| C7 wrong-start | a new owner starts at the committed offset |
| C9 wrong-reset | the reset policy applies only if that offset is missing or gone |
| C8 unseen | after healing, every group that starts at the earliest offset received every record |
| C10 late | in the calm, records are returned within twice fetch.max.wait.ms |
| C11 wrong-record | records are as written at their offset; truncated records never follow later ones |
| C12 fresh-read | at the end, a new consumer reads exactly the log |
| C14 committed-to-another | members that know topics by ID never commit to a recreated topic |
| C15 not-continued | a restarted command, or one without offsets, prints each record of the meantime once |
| C13 wrong-answer | end_offsets, beginning_offsets, and committed return a value of some instant of the call |
"""

from collections.abc import Iterator
from typing import Any

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import Plan

LATE_SLACK_MS = 100
COMMITTING = ("poll", "next", "commit_sync", "commit_async", "close", "unsubscribe", "subscribe", "assign")
"""Calls that may commit, or let go of, what earlier polls returned."""


class Place:
    """State of one consumer in one partition of its assignment."""

    __slots__ = ("cuts", "expected", "from_beginning", "knows_epoch", "reach", "since_ms")

    def __init__(self, since_ms: int) -> None:
        self.expected: int | None = None
        """The next offset; None while nothing was delivered and nobody has said where to start."""
        self.since_ms = since_ms
        self.from_beginning = False
        self.reach = -1
        """Up to where this may be committed."""
        self.cuts = 0
        """Number of truncations before the last returned record was written."""
        self.knows_epoch = False
        """True if a record was returned since the position was set."""


class ConsumerRules:
    """The places of all consumers."""

    def __init__(self, plan: Plan) -> None:
        self._places: dict[str, dict[TopicPartition, Place]] = {}
        self._paused: dict[str, dict[TopicPartition, None]] = {}
        self._reach: dict[tuple[str, TopicPartition], int] = {}
        """The furthest that a proc may commit, over all its assignments."""
        self._seen: dict[str, dict[TopicPartition, set[tuple[int, int]]]] = {}
        """Received records, by group that must receive all."""
        self._probes: dict[TopicPartition, dict[int, int]] = {}
        """Time of writing of each record of the calm phase."""
        self._read: set[tuple[str, TopicPartition, int]] = set()
        """Received records of the calm phase."""
        self._asked: dict[str, Entry] = {}

    # --- one entry --------------------------------------------------------------------------------------------------

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.proc == CLUSTER:
            yield from self._of_cluster(entry, facts)
        elif entry.what == "read" and entry.kind == "event":
            yield from self._fresh(entry)
        elif entry.proc in facts.groups or entry.what == "born":
            yield from self._of_client(entry, facts)

    def _of_cluster(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.what == "commit":
            yield from self._commit(entry, facts)
        elif entry.what == "cut":
            tp, end = entry.value
            self._cut(tp, end, facts)
        elif entry.what == "continued":
            yield from self._continued(entry)
        elif entry.what == "append" and facts.phase == "stable":
            tp, first, count = entry.value
            self._probes.setdefault(tp, {}).update(dict.fromkeys(range(first, first + count), entry.at_ms))
        elif entry.what == "deleted":
            for proc, places in self._places.items():
                for tp, place in places.items():
                    if tp.topic == entry.value and not facts.has_ids(proc):
                        place.expected = None  # others go on reading the old one until the group takes it away

    def _of_client(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        proc = entry.proc
        places = self._places.setdefault(proc, {})
        paused = self._paused.setdefault(proc, {})
        if entry.kind == "event":
            self._event(entry, places, paused)
        elif entry.kind == "invoke":
            self._asked[proc] = entry
            self._invoke(entry, facts, places, paused)
        elif entry.kind == "ok" and entry.what in ("poll", "next"):
            yield from self._poll(entry, facts, places, paused)
        elif entry.kind == "ok" and entry.what == "position":
            yield from self._position(entry, facts, places)
        elif entry.kind == "ok" and entry.what in ("end_offsets", "beginning_offsets"):
            yield from self._limits(entry, facts)
        elif entry.kind == "ok" and entry.what == "committed":
            yield from self._committed(entry, facts)

    def _event(self, entry: Entry, places: dict[TopicPartition, Place], paused: dict[TopicPartition, None]) -> None:
        if entry.what == "assigned":
            for tp in entry.value["partitions"]:
                places[tp] = Place(entry.at_ms)
        elif entry.what in ("revoked", "lost"):
            for tp in entry.value["partitions"]:
                places.pop(tp, None)
                paused.pop(tp, None)

    def _invoke(  # noqa: C901 - one case a call
        self, entry: Entry, facts: Facts, places: dict[TopicPartition, Place], paused: dict[TopicPartition, None]
    ) -> None:
        if entry.what in COMMITTING:
            for tp, place in places.items():
                if place.expected is not None:
                    self._reached(entry.proc, tp, place.expected)
        match entry.what:
            case "assign":
                for tp in [tp for tp in places if tp not in entry.value]:
                    del places[tp]
                    paused.pop(tp, None)
                for tp in entry.value:
                    places.setdefault(tp, Place(entry.at_ms))
            case "seek":
                tp, offset = entry.value
                place = places.get(tp, Place(entry.at_ms))  # none: Ctrl-C came while poll applied a revocation
                place.expected, place.from_beginning = offset, False
                place.cuts, place.knows_epoch = 0, False  # it may be after any truncation
                facts.is_set_blindly(facts.groups[entry.proc], tp, offset)
                self._reached(entry.proc, tp, offset)
            case "seek_to_beginning":
                for tp in entry.value:
                    place = places.get(tp, Place(entry.at_ms))
                    place.expected, place.from_beginning, place.since_ms = None, True, entry.at_ms
            case "pause":
                paused.update(dict.fromkeys(entry.value))
            case "resume":
                for tp in entry.value:
                    paused.pop(tp, None)

    def _reached(self, proc: str, tp: TopicPartition, offset: int) -> None:
        self._reach[proc, tp] = max(offset, self._reach.get((proc, tp), -1))

    # --- deliveries -------------------------------------------------------------------------------------------------

    def _poll(
        self, entry: Entry, facts: Facts, places: dict[TopicPartition, Place], paused: dict[TopicPartition, None]
    ) -> Iterator[Violation]:
        for text in entry.value["wrong"]:
            yield broken("C11 wrong-record", entry, text)
        met: dict[TopicPartition, None] = {}
        for tp, first, count, cuts in entry.value["runs"]:
            place = places.get(tp)
            if place is None or tp in paused or tp not in entry.value["owned"]:
                why = "paused" if tp in paused else "not owned"
                yield broken("C4 not-owned", entry, f"{tp} is {why}, and {count} records from {first} on came")
                continue
            rule = self._start(entry.proc, tp, place, first, facts, cuts)
            if rule:
                name = "C3 int-poll-skip" if tp in met and place.expected is not None else rule
                yield broken(name, entry, f"{tp}: {first} comes, {self._expected(place, entry.proc, tp, facts)}")
            met[tp] = None
            place.expected, place.cuts, place.knows_epoch = first + count, cuts, True
            yield from self._delivered(entry, tp, first, count, cuts, facts)

    def _cut(self, tp: TopicPartition, end: int, facts: Facts) -> None:
        """Take note of members that read on behind a cut without a way to notice: nobody told them an epoch."""
        for proc, places in self._places.items():
            place = places.get(tp)
            if place is not None and place.expected is not None and place.expected > end and not place.knows_epoch:
                facts.is_blind(facts.groups[proc], tp, range(end, place.expected))

    def _start(
        self, proc: str, tp: TopicPartition, place: Place, first: int, facts: Facts, cuts: int | None = None
    ) -> str:
        """Return the rule that is broken by continuing at `first`, or an empty text.

        Args: cuts: number of truncations before the record was written, or None.
        """
        expected = place.expected
        if tp.topic in facts.recreated and not facts.has_ids(proc):
            return ""  # of a topic that was recreated an offset says nothing: old data may be on its way
        if expected is None:
            return "" if first in self._starts(proc, tp, place, facts) else "C7 wrong-start"
        since = facts.cuts.get(tp, [])[place.cuts :]
        if first == expected:
            return "" if cuts is None else self._across(place, cuts, since)
        if any(end < expected for end in since):  # it was told, or has met the end of the log
            starts = facts.start_of(tp).since(place.since_ms)
            going_back = [max(end, start) for end in since if end < expected for start in starts]
            return "" if first in going_back or first in self._by_policy(proc, tp, place, facts) else "C9 wrong-reset"
        if facts.start_of(tp).now > expected:  # retention has passed it: C9
            return "" if first in self._by_policy(proc, tp, place, facts) else "C9 wrong-reset"
        return "C1 poll-skip" if first > expected else "C2 nonmonotonic-poll"

    @staticmethod
    def _across(place: Place, cuts: int, since: list[int]) -> str:
        """Return the rule that is broken by going on where one stood with a record of another time."""
        if not place.knows_epoch:
            return ""
        if cuts < place.cuts:
            return "C11 wrong-record"
        assert place.expected is not None
        is_cut = any(end < place.expected for end in since[: cuts - place.cuts])
        return "C1 poll-skip" if is_cut else ""

    def _starts(self, proc: str, tp: TopicPartition, place: Place, facts: Facts) -> "list[int] | range":
        """Return where somebody may start who was not told where."""
        if place.from_beginning:
            starts = facts.start_of(tp).since(place.since_ms)
            if all(start >= facts.start_of(tp).now for start in starts):
                return starts
            return [*starts, *self._by_policy(proc, tp, place, facts)]  # retention may have passed the one it found
        group = facts.groups[proc]
        committed = facts.commits_of(group, tp).since(place.since_ms) if group else [None]
        if any(offset is None or offset < facts.start_of(tp).now for offset in committed):
            by_policy = self._by_policy(proc, tp, place, facts)
            return [*(offset for offset in committed if offset is not None), *by_policy]
        known = [offset for offset in committed if offset is not None]
        cuts = [end for end in facts.cuts.get(tp, ()) if end < max(known)]
        return [*known, *cuts, *self._by_policy(proc, tp, place, facts)] if cuts else known

    def _by_policy(self, proc: str, tp: TopicPartition, place: Place, facts: Facts) -> "list[int] | range":
        starts = facts.start_of(tp).since(place.since_ms)
        if facts.policy(proc) == "latest":
            ends = facts.end_of(tp).since(place.since_ms)
            return range(max(min(ends), starts[0]), max(ends) + 1)
        return starts

    def _expected(self, place: Place, proc: str, tp: TopicPartition, facts: Facts) -> str:
        if place.expected is None:
            starts = self._starts(proc, tp, place, facts)
            return f"not one of {list(starts)[:10]} since {place.since_ms} ms"
        return f"not {place.expected}; the log starts at {facts.start_of(tp).now}"

    def _delivered(
        self, entry: Entry, tp: TopicPartition, first: int, count: int, cuts: int, facts: Facts
    ) -> Iterator[Violation]:
        properties = facts.properties[entry.proc]
        if properties["member"] and facts.policy(entry.proc) != "latest":
            seen = self._seen.setdefault(properties["group"], {}).setdefault(tp, set())
            seen.update((offset, cuts) for offset in range(first, first + count))
        reader = properties["group"] if properties["member"] else entry.proc.split(".")[0]
        probes = self._probes.get(tp, {})
        limit_ms = 2 * properties["fetch.max.wait.ms"] + LATE_SLACK_MS
        for offset in range(first, first + count):
            written_ms = probes.get(offset)
            if (reader, tp, offset) in self._read:
                continue  # a second time, after a restart
            if written_ms is not None:
                self._read.add((reader, tp, offset))
            if written_ms is not None and entry.at_ms - written_ms > limit_ms and facts.phase == "stable":
                yield broken(
                    "C10 late", entry, f"{tp} {offset} came {entry.at_ms - written_ms} ms after it was written"
                )

    # --- positions and commits --------------------------------------------------------------------------------------

    def _position(self, entry: Entry, facts: Facts, places: dict[TopicPartition, Place]) -> Iterator[Violation]:
        tp, at = entry.value
        place = places.get(tp)
        if place is None:
            yield broken("C4 not-owned", entry, f"position() of {tp}, which is not assigned")
            return
        rule = self._start(entry.proc, tp, place, at, facts)
        if rule:
            name = "C5 position" if place.expected is not None else rule
            yield broken(name, entry, f"{tp}: position() is {at}, {self._expected(place, entry.proc, tp, facts)}")
        if at != place.expected:
            place.expected, place.knows_epoch = at, False

    def _commit(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        """Retention and the reset policy move a position without a delivery: to a start of the log, or an end of it."""
        _, tp, offset, proc, _ = entry.value
        place = self._places[proc].get(tp) if proc in facts.groups else None
        if tp.topic in facts.recreated:
            if place is not None and offset and facts.has_ids(proc) and place.since_ms < facts.recreated[tp.topic]:
                yield broken("C14 committed-to-another", entry, f"{proc}: {tp}: {offset} is of the topic before")
            return
        if proc not in facts.groups or offset <= self._reach.get((proc, tp), -1):
            return
        if offset in facts.start_of(tp).since(0) or facts.policy(proc) == "latest":
            return
        if place is not None and place.expected is None and offset in self._starts(proc, tp, place, facts):
            return
        if offset in facts.commits_of(facts.groups[proc], tp).since(0):
            return  # where it started, in an assignment that is over by now
        text = f"{tp}: {offset} is committed, and it was given records up to {self._reach.get((proc, tp))}"
        yield broken("C6 committed-too-far", entry, f"{proc}: {text}")

    # --- questions --------------------------------------------------------------------------------------------------

    def _limits(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        asked_ms = self._asked[entry.proc].at_ms
        timelines = facts.end_of if entry.what == "end_offsets" else facts.start_of
        for tp, found in entry.value:
            values = timelines(tp).since(asked_ms)
            low, high = min(values), max(values)
            if not low <= found <= high:
                yield broken("C13 wrong-answer", entry, f"{tp}: {found}, and it was {low} to {high}")

    def _committed(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        asked_ms = self._asked[entry.proc].at_ms
        for tp, offset in entry.value:
            possible = facts.commits_of(facts.groups[entry.proc], tp).since(asked_ms)
            if offset not in possible:
                yield broken("C13 wrong-answer", entry, f"{tp}: committed {offset}, and it was {possible}")

    # --- the end ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _continued(entry: Entry) -> Iterator[Violation]:
        wanted, printed = entry.value["wanted"], entry.value["printed"]
        if sorted(wanted) != sorted(printed) or any(entry.value["codes"]):
            missing = [each for each in wanted if each not in printed]
            again = sorted({each for each in printed if printed.count(each) > 1})
            text = f"{entry.value['story']}, exits {entry.value['codes']}: without {missing[:10]}, twice {again[:10]}"
            yield broken("C15 not-continued", entry, text)

    def _fresh(self, entry: Entry) -> Iterator[Violation]:
        for tp, start, end, found in entry.value["partitions"]:
            if found != list(range(start, end)):
                missing = sorted(set(range(start, end)) - set(found))[:10]
                text = f"{tp} {start}..{end} ({entry.value['isolation']}): {len(found)} records, without {missing}"
                yield broken("C12 fresh-read", entry, text)

    def end(self, facts: Facts) -> Iterator[Violation]:
        if facts.phase != "over":
            return
        for group, seen in self._seen.items():
            for tp, end in facts.ends.items():
                if tp.topic in facts.recreated:
                    continue
                met: Any = seen.get(tp, ())
                missing = [
                    offset
                    for offset in range(facts.start_of(tp).now, end.now)
                    if (offset, facts.cuts_before(tp, offset)) not in met
                    and not any(offset in offsets for offsets in facts.blind.get((group, tp), ()))
                ]
                if missing:
                    text = f"{group} has not seen {len(missing)} records of {tp}: {missing[:10]}"
                    yield Violation("C8 unseen", 0, 0, group, text)
