"""Reconciliation: the partitions of a KIP-848 member, from the group's target to what the application reads.

Owns target, reported and applied partitions, by topic id. One change at a time is reported to the application; what it
takes away stays in the heartbeats until it is applied. Sends nothing but questions for topic names (`TopicIds`).
"""

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.heartbeat_contents import Slots
from kctl.client.consumer.group.membership import AssignmentReports
from kctl.client.consumer.group.topic_ids import TopicIds
from kctl.client.protocol.api.consumer_groups import Assignment


class Reconciliation:
    """The assignment of one member.

    Attributes: reported: what was reported last; None before the first assignment.
    """

    def __init__(self, names: TopicIds, reports: AssignmentReports) -> None:
        self.reported: Slots | None = None
        self._names = names
        self._reports = reports
        self._target: Slots | None = None
        self._is_unacknowledged = False
        """The target has to be acknowledged, even if it changes nothing: an earlier response may have been lost."""
        self._applied: Slots = {}

    @property
    def held(self) -> Slots:
        """What heartbeats report: all that the application reads or may begin to read."""
        return self._applied if self._reports.is_applied else united(self._applied, self.reported or {})

    def receive(self, assignment: Assignment) -> None:
        """Note what the group wants the member to have."""
        self._target = slots_of(assignment)
        self._is_unacknowledged = True
        self._names.want([*self._target, *(self.reported or ())])

    def forget_target(self) -> None:
        """Wait for the next assignment: it may have changed by a request whose response was lost."""
        self._target = None

    def applied(self, number: int) -> bool:
        """Note that the application applied a change; return whether the coordinator has to hear of it."""
        if not self._reports.applied(number) or self.reported is None or self._applied == self.reported:
            return False  # it was overtaken by a loss, is of an earlier subscription, or changes nothing
        self._applied = self.reported
        return True

    def advance(self) -> bool:
        """Report the target, as far as the names of topics are known, when nothing waits to be applied.

        Returns: whether the coordinator waits for an acknowledgement of a target that changes nothing.
        """
        if self._target is None or not self._reports.is_applied:
            return False
        names = self._names.known()
        wanted = {topic_id: numbers for topic_id, numbers in self._target.items() if topic_id in names}
        if self.reported is None or wanted != self.reported:
            self._send(wanted)
        elif self._is_unacknowledged and not self._names.missing:
            self._is_unacknowledged = False
            return True
        return False

    def lose(self) -> None:
        """Report that all of it may be another member's by now."""
        had = self.reported
        self.forget()
        if had:
            self._send({}, is_lost=True)
        self.reported = None

    def forget(self) -> None:
        """Forget target and applied partitions; the names of what was reported are still known."""
        self._target = None
        self._applied = {}
        self._names.want(())

    def clear(self) -> None:
        """Forget everything: the application has released it."""
        self.forget()
        self.reported = None
        self._reports.is_applied = True

    def _send(self, wanted: Slots, *, is_lost: bool = False) -> None:
        """Report the partitions by name, which is all that the application knows of, and which topics they are of.

        What goes may be of a topic that was recreated; where the metadata knows, the new id is reported.
        """
        names = self._names.known()
        gone = [topic_id for topic_id in self.reported or () if topic_id not in wanted]
        owned = [TopicPartition(names[topic_id], number) for topic_id, numbers in wanted.items() for number in numbers]
        topic_ids = self._names.successors(gone) | {names[topic_id]: topic_id for topic_id in wanted}
        self.reported = wanted
        self._reports.send(tuple(sorted(owned)), is_lost=is_lost, is_complete=not is_lost, topic_ids=topic_ids)


def slots_of(assignment: Assignment) -> Slots:
    """Return the partitions of a response, in order."""
    return {
        each.topic_id: tuple(sorted(each.partitions))
        for each in sorted(assignment.topic_partitions, key=lambda each: each.topic_id)
        if each.partitions
    }


def united(some: Slots, others: Slots) -> Slots:
    """Return the partitions of both."""
    return {
        topic_id: tuple(sorted({*some.get(topic_id, ()), *others.get(topic_id, ())}))
        for topic_id in sorted(some.keys() | others.keys())
    }
