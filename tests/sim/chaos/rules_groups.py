"""Rules G1 to G11: ownership of partitions, and stability of groups.

| id | rule |
|---|---|
| G1 two-owners | no partition is assigned that another counted member still holds |
| G2 wrong-change | revoked and lost partitions were owned, assigned ones were not; eager members give up all |
| G3 generation-fell | the generation of a member ID never falls |
| G4 heartbeat | calm members send heartbeats in each interval; members that stop polling send none |
| G5 not-settled | after healing, all partitions are owned and read within the limit, and then nothing moves |
| G6 outsider | after a poll, a removed member owns nothing of before: the poll reported the loss, even after a rejoin |
| G7 static | a static member that returns within its session moves no other member |
| G8 fenced | after a commit_sync rejected with an unknown member, its partitions return no records |
| G9 session-over | no record is returned by a member whose session is over by the clock of its process |
| G10 lost-in-vain | a member that polls in time loses no partitions if nothing is wrong but that responses are late |
| G11 outside | a member that polls is in the group, or joins it in that poll |
"""

from collections.abc import Iterator

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import MAX_POLL_MS, Kind, Plan

HEARTBEAT_SLACK_MS = 1500
SILENCE_SLACK_MS = 3000
UNKNOWN_MEMBER = "UNKNOWN_MEMBER_ID"


class GroupRules:
    """The members of all groups."""

    def __init__(self, plan: Plan) -> None:
        self._owned: dict[str, dict[TopicPartition, None]] = {}
        self._members: dict[str, tuple[str, int]] = {}
        self._beats: dict[str, int] = {}
        self._polled_ms: dict[str, int | None] = {}
        """End of the last poll; None during a poll."""
        self._has_polled: dict[str, bool] = {}
        """True if a poll succeeded since the last check of the membership."""
        self._adrift: dict[str, dict[TopicPartition, None]] = {}
        """Partitions of members seen outside of the group, until the loss is reported to them."""
        self._bounced = ""
        self._newest: dict[str, tuple[str, list[TopicPartition]]] = {}
        """The change that the listener was called with, until the poll has ended well."""
        self._repeated: dict[str, tuple[str, list[TopicPartition]]] = {}
        """Last change of an interrupted poll: the next poll may repeat the listener call."""
        self._fenced: dict[str, dict[TopicPartition, None]] = {}
        """Partitions of members at a rejected commit, until the loss is reported to them."""
        self._pauses_ms: dict[str, int] = {}
        """Longest time between two polls."""
        self._is_only_late = {fault.kind for fault in plan.faults} == {Kind.LATE.value}
        # A coordinator that takes over knows the group as it was when its last rebalance was complete, in Kafka too:
        # what members were told of a later generation is forgotten, and its number given again.
        self._may_fall = any(fault.kind in ("coordinator", "trouble") for fault in plan.faults)

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.proc == CLUSTER:
            yield from self._of_cluster(entry, facts)
            return
        if entry.what in ("poll", "next"):
            polled_ms = self._polled_ms.get(entry.proc)
            if entry.kind == "invoke" and polled_ms is not None:
                pause_ms = entry.at_ms - polled_ms
                self._pauses_ms[entry.proc] = max(pause_ms, self._pauses_ms.get(entry.proc, 0))
            if entry.kind == "ok" and entry.what == "poll":  # the next record of a loop may need no poll
                self._has_polled[entry.proc] = True
            self._polled_ms[entry.proc] = None if entry.kind == "invoke" else entry.at_ms
            newest = self._newest.pop(entry.proc, None)
            if entry.error == "Interrupt" and newest is not None:
                self._repeated[entry.proc] = newest
            elif entry.kind != "invoke":
                self._repeated.pop(entry.proc, None)
        yield from self._of_fenced(entry)
        if entry.kind != "event":
            return
        if entry.what in ("assigned", "revoked", "lost"):
            yield from self._change(entry, facts)
        elif entry.what == "member":
            yield from self._member(entry)
        elif entry.what == "outside":
            yield broken("G11 outside", entry, f"a poll of {entry.value} ms did not join the group")
        elif entry.what == "bounce":
            self._bounced = entry.value

    def _of_fenced(self, entry: Entry) -> Iterator[Violation]:
        if entry.what == "commit_sync" and entry.error == "CommitFailedError" and UNKNOWN_MEMBER in entry.value["text"]:
            self._fenced[entry.proc] = dict(self._owned.get(entry.proc, {}))
        elif entry.what == "after-session":
            yield broken("G9 session-over", entry, f"{entry.value} records")
        elif entry.what == "poll" and entry.kind == "ok":
            fenced = self._fenced.get(entry.proc, {})
            handed_out = [TopicPartition(*run[0]) for run in entry.value["runs"] if TopicPartition(*run[0]) in fenced]
            if handed_out:
                yield broken("G8 fenced", entry, f"records of {_text(handed_out)} after a refused commit")

    def _change(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        partitions = entry.value["partitions"]
        self._newest[entry.proc] = (entry.what, partitions)
        if self._repeated.pop(entry.proc, None) == (entry.what, partitions):
            return
        owned = self._owned.setdefault(entry.proc, {})
        if entry.value["robbed"]:
            yield broken("G1 two-owners", entry, f"still held: {entry.value['robbed']}")
        strange = [tp for tp in partitions if (tp in owned) == (entry.what == "assigned")]
        if strange:
            yield broken("G2 wrong-change", entry, f"{entry.what}: {_text(strange)}, owned {_text(owned)}")
        if entry.what != "assigned" and facts.is_eager(entry.proc) and len(partitions) < len(owned):
            yield broken("G2 wrong-change", entry, f"{entry.what} {_text(partitions)}, and eager members give up all")
        if entry.what == "lost" and self._is_only_late and self._pauses_ms.get(entry.proc, 0) < MAX_POLL_MS:
            yield broken("G10 lost-in-vain", entry, f"{_text(partitions)} while responses are late and nothing else")
        if entry.what == "assigned":
            owned.update(dict.fromkeys(partitions))
        else:
            for tp in partitions:
                owned.pop(tp, None)
                self._adrift.get(entry.proc, {}).pop(tp, None)
                self._fenced.get(entry.proc, {}).pop(tp, None)
        if facts.phase == "stable" and partitions and entry.proc.split(".")[0] != self._bounced:
            rule = "G7 static" if self._bounced else "G5 not-settled"
            yield broken(rule, entry, f"{entry.what} {_text(partitions)} while nothing is wrong")

    def _member(self, entry: Entry) -> Iterator[Violation]:
        member_id, generation = entry.value
        known = self._members.get(entry.proc)
        adrift = self._adrift.pop(entry.proc, {})
        if adrift and self._has_polled.get(entry.proc, False):
            yield broken("G6 outsider", entry, f"was outside, and still owns {_text(adrift)}")
        if generation < 0:
            self._adrift[entry.proc] = dict(self._owned.get(entry.proc, {}))
        self._has_polled[entry.proc] = False
        if known is not None and known[0] == member_id and 0 <= generation < known[1] and not self._may_fall:
            yield broken("G3 generation-fell", entry, f"{member_id}: {known[1]}, then {generation}")
        self._members[entry.proc] = (member_id, generation)

    def _of_cluster(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.what == "heartbeat":
            yield from self._heartbeat(entry, facts)
        elif entry.what == "settled" and entry.value["why_not"]:
            after_ms = entry.value["after_ms"]
            yield broken("G5 not-settled", entry, f"{after_ms} ms after healing {entry.value['why_not']}")
        elif entry.what == "stable":
            self._beats.clear()

    def _heartbeat(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        proc, epoch = entry.value
        if proc not in facts.properties or epoch < 0:
            return
        interval_ms = facts.properties[proc].get("heartbeat.interval.ms", 1000)
        last_ms = self._beats.get(proc)
        is_late = last_ms is not None and entry.at_ms - last_ms > interval_ms + HEARTBEAT_SLACK_MS
        if facts.phase == "stable" and is_late:
            yield broken("G4 heartbeat", entry, f"{proc}: none between {last_ms} ms and now")
        self._beats[proc] = entry.at_ms
        polled_ms = self._polled_ms.get(proc)
        if polled_ms is None or not facts.is_quiet(polled_ms + MAX_POLL_MS):
            return
        if entry.at_ms - polled_ms > MAX_POLL_MS + SILENCE_SLACK_MS:
            yield broken("G4 heartbeat", entry, f"{proc} has not polled for {entry.at_ms - polled_ms} ms")

    def end(self, facts: Facts) -> Iterator[Violation]:
        yield from ()


def _text(partitions: "list[TopicPartition] | dict[TopicPartition, None]") -> str:
    return " ".join(map(str, partitions)) or "nothing"
