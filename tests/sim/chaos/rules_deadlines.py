"""Rules D1 to D8: calls return by their deadlines, to the millisecond, except while the process is frozen.

| id | rule |
|---|---|
| D1 late | a call returns at or before start + timeout; one without a timeout takes no time |
| D2 early | an empty poll and a timeout error come at the deadline, not before |
| D3 wrong-account | a timeout error has the limit and the elapsed time of its call; its time breakdown is complete |
| D4 slept-on-data | no poll returns empty while data has been available for a millisecond |
| D5 close | in the calm, close completes everything immediately |
| D7 slow | in the calm, a commit is acknowledged within a quarter of a second |
| D8 unexpected-error | calls raise only their documented errors |
"""

from collections.abc import Iterator

from kctl.client.consumer.network_loop import EARLIER_QUESTIONS
from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import Plan
from tests.sim.chaos.rules_refusals import REFUSALS

COMMIT_LIMIT_MS = 250
CLOSE_LIMIT_MS = 1000
_ANY = ("WakeupError", "ApiTimeout", "Interrupt")
_OF_POLL = ("WakeupError", "InvalidOffsetError", "UnreleasedInstanceIdError")  # KIP-848: after a crash, for a session
EXPECTED: dict[str, tuple[str, ...]] = {
    "poll": ("Interrupt", *_OF_POLL),
    "next": ("Interrupt", *_OF_POLL),
    "position": (*_ANY, "InvalidOffsetError"),
    "commit_sync": (*_ANY, "CommitFailedError"),
    "committed": _ANY,
    "end_offsets": _ANY,
    "beginning_offsets": _ANY,
    "offsets_for_times": _ANY,
    "list_topics": _ANY,
    "partitions_for": _ANY,
}
REFUSED = {
    "INCONSISTENT_GROUP_PROTOCOL": "InconsistentGroupProtocolError",
    "GROUP_MAX_SIZE_REACHED": "GroupMaxSizeReachedError",
    "UNSUPPORTED_ASSIGNOR": "UnsupportedAssignorError",
    "UNKNOWN_MEMBER_ID": "UnknownMemberIdError",
}
"""Errors of polls and commits while a group is told to refuse members."""
OF_TOPICS = ("UnknownTopicOrPartitionError", "UnknownTopicIdError", "LogTruncationError")
"""Errors of calls about a topic that is gone, or was recreated with less in it."""
OF_CUTS = ("poll", "next", "position")
"""Calls that report a truncated log if no reset policy applies."""


class DeadlineRules:
    """The calls under way."""

    def __init__(self, plan: Plan) -> None:
        self._open: dict[str, Entry] = {}
        self._wakeups: dict[str, int] = {}
        self._is_unknown_expected = any(
            fault.kind == "recreate" or "UNKNOWN_TOPIC" in fault.word or fault.word.startswith("Metadata ")
            for fault in plan.faults
        )
        self._cuts_logs = plan.cuts_logs
        self._has_strange_bytes = plan.has_strange_bytes
        self._refusals = {REFUSED[name] for fault in plan.faults for name in REFUSED if name in fault.word}
        self._may_stand_still = any(fault.kind == "no-progress" for fault in plan.faults)
        self._is_calm = plan.kind == "calm"
        self._may_be_fenced: dict[str, bool] = {}
        """Processes that live, and whether a coordinator has moved since their start."""

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.proc == CLUSTER:
            if entry.what == "fault" and entry.value["kind"] == "coordinator":
                self._may_be_fenced = dict.fromkeys(self._may_be_fenced, True)
            return
        if entry.what == "born":
            self._may_be_fenced[entry.proc] = False
        elif entry.what == "slept":
            ready = " ".join(map(str, entry.value))
            yield broken("D4 slept-on-data", entry, f"a poll has ended empty, and there was data of {ready}")
        elif entry.what == "wakeup":
            self._wakeups[entry.proc] = self._wakeups.get(entry.proc, 0) + 1
        elif entry.kind == "invoke":
            self._open[entry.proc] = entry
        elif entry.kind in ("ok", "info", "fail"):
            began = self._open.pop(entry.proc)
            yield from self._ended(began, entry, facts)

    def _ended(self, began: Entry, entry: Entry, facts: Facts) -> Iterator[Violation]:
        elapsed_ms = entry.at_ms - began.at_ms
        limit_ms = entry.timeout_ms or 0
        deadline_ms = max(began.at_ms + limit_ms, entry.stalled_ms)
        if entry.at_ms > deadline_ms:
            yield broken("D1 late", entry, f"{entry.what}: {elapsed_ms} ms of {limit_ms} ms")
        is_empty = entry.what == "poll" and entry.kind == "ok" and not entry.value["runs"]
        if (is_empty or entry.error == "ApiTimeout") and elapsed_ms < limit_ms:
            yield broken("D2 early", entry, f"{entry.what}: {elapsed_ms} ms of {limit_ms} ms, {entry.error or 'empty'}")
        if entry.error == "ApiTimeout":
            reported = entry.value
            if reported["timeout_ms"] != limit_ms or abs(reported["elapsed_ms"] - elapsed_ms) > 1:
                yield broken("D3 wrong-account", entry, f"{elapsed_ms} ms of {limit_ms} ms: {reported}")
            asks_twice = entry.what == "position"
            time_breakdown = [
                line for line in reported["spent_ms"] if asks_twice or not line.startswith(EARLIER_QUESTIONS)
            ]
            spent_ms = sum(int(line.split()[-2]) for line in time_breakdown)
            if abs(spent_ms - elapsed_ms) > 1:
                yield broken("D3 wrong-account", entry, f"{spent_ms} ms of {elapsed_ms} ms: {reported['spent_ms']}")
        yield from self._error(entry)
        if facts.phase in ("stable", "over"):
            yield from self._calm(entry, elapsed_ms)

    def _error(self, entry: Entry) -> Iterator[Violation]:
        if not entry.error:
            return
        if entry.error == "WakeupError" and self._wakeups.get(entry.proc, 0) > 0:
            self._wakeups[entry.proc] -= 1
            return
        if entry.error in OF_TOPICS and self._is_unknown_expected:
            return
        if entry.error in REFUSALS and self._has_strange_bytes:
            return  # R10 says when that is wrong
        if entry.error == "LogTruncationError" and entry.what in OF_CUTS and self._cuts_logs:
            return
        if entry.error in self._refusals and entry.what in ("poll", "next", "commit_sync"):
            return
        if entry.error == "FencedInstanceIdError" and self._may_be_fenced.get(entry.proc):
            # Coordinators that move forget unstored state, such as the process that replaced a static member in an
            # incomplete
            # rebalance. Kafka behaves the same, and Java's member fails as well.
            return
        if entry.error == "NoProgressError" and entry.what in ("poll", "next") and self._may_stand_still:
            return
        is_expected = entry.error in EXPECTED.get(entry.what, ()) and entry.error != "WakeupError"
        # With a call of less than a second even a healthy cluster may be too far away.
        if not is_expected or (self._is_calm and (entry.timeout_ms or 0) >= 1000 and entry.error == "ApiTimeout"):
            yield broken("D8 unexpected-error", entry, f"{entry.what}: {entry.error}: {entry.value}")

    def _calm(self, entry: Entry, elapsed_ms: int) -> Iterator[Violation]:
        if entry.what == "commit_sync" and (entry.error or elapsed_ms > COMMIT_LIMIT_MS):
            yield broken("D7 slow", entry, f"commit_sync: {elapsed_ms} ms, {entry.error or 'ok'} {entry.value or ''}")
        if entry.what == "close" and entry.kind == "ok":
            is_done = entry.value["committed"] is not False and entry.value["left_group"] is not False
            if not is_done or entry.value["expired_in"] or elapsed_ms > CLOSE_LIMIT_MS:
                yield broken("D5 close", entry, f"{elapsed_ms} ms: {entry.value}")

    def end(self, facts: Facts) -> Iterator[Violation]:
        yield from ()
