"""Reconciliation: applies the group's target assignment to a KIP-848 member, by topic id.

The application gets one change at a time. Removed partitions stay in heartbeats until it has applied the change.
"""

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.heartbeat_contents import Slots
from kctl.client.consumer.group.membership import AssignmentReports
from kctl.client.consumer.group.topic_ids import TopicIds
from kctl.client.protocol.api.consumer_groups import Assignment


class Reconciliation:
    """Target, reported, and applied assignments of one member.

    Attributes:
        reported: partitions last reported to the application. None before the first assignment.
    """

    def __init__(self, names: TopicIds, reports: AssignmentReports) -> None:
        self.reported: Slots | None = None
        self._names = names
        self._reports = reports
        self._target: Slots | None = None
        self._is_unacknowledged = False
        """Whether an unchanged target must be confirmed, because an earlier response may be lost."""
        self._applied: Slots = {}

    @property
    def held(self) -> Slots:
        """Partitions to report in heartbeats: all that the application reads or may begin to read."""
        return self._applied if self._reports.is_applied else united(self._applied, self.reported or {})

    def receive(self, assignment: Assignment) -> None:
        self._target = slots_of(assignment)
        self._is_unacknowledged = True
        self._names.want([*self._target, *(self.reported or ())])

    def forget_target(self) -> None:
        """Wait for the next assignment, because a lost response may have changed the target."""
        self._target = None

    def applied(self, number: int) -> bool:
        """Record an applied change. Return whether to report it to the coordinator."""
        if not self._reports.applied(number) or self.reported is None or self._applied == self.reported:
            return False  # overtaken by a loss, of an earlier subscription, or without changes
        self._applied = self.reported
        return True

    def advance(self) -> bool:
        """Report the target to the application if no change is pending. Topics with unknown names are left out.

        Returns whether the coordinator awaits confirmation of an unchanged target.
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
        self.forget()
        if self._reports.held:
            self._send({}, is_lost=True)
        self.reported = None

    def forget(self) -> None:
        self._target = None
        self._applied = {}
        self._names.want(())

    def clear(self) -> None:
        self.forget()
        self.reported = None
        self._reports.clear()

    def _send(self, wanted: Slots, *, is_lost: bool = False) -> None:
        names = self._names.known()
        gone = [topic_id for topic_id in self.reported or () if topic_id not in wanted]
        owned = [TopicPartition(names[topic_id], number) for topic_id, numbers in wanted.items() for number in numbers]
        topic_ids = self._names.successors(gone) | {names[topic_id]: topic_id for topic_id in wanted}
        self.reported = wanted
        self._reports.send(tuple(sorted(owned)), is_lost=is_lost, is_complete=not is_lost, topic_ids=topic_ids)


def slots_of(assignment: Assignment) -> Slots:
    return {
        each.topic_id: tuple(sorted(each.partitions))
        for each in sorted(assignment.topic_partitions, key=lambda each: each.topic_id)
        if each.partitions
    }


def united(some: Slots, others: Slots) -> Slots:
    return {
        topic_id: tuple(sorted({*some.get(topic_id, ()), *others.get(topic_id, ())}))
        for topic_id in sorted(some.keys() | others.keys())
    }
