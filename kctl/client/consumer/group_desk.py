"""GroupDesk: the network side of being in a group: coordinator, membership, commits and committed offsets together.

Owns their order within a turn of the loop and the way of the group's events to them.
Shown by tests/sim/groups.
"""

from collections.abc import Callable
from random import Random

from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import ResolvePosition, ToApplication
from kctl.client.consumer.group_events import (
    AskCommitted,
    AssignmentChanged,
    ChangeApplied,
    CommitAsync,
    CommitSync,
    GroupToNetwork,
    PollBegan,
    PollEnded,
    Rejoin,
    Subscribe,
    Unsubscribe,
)
from kctl.client.consumer.managers.commits import CommitManager
from kctl.client.consumer.managers.committed import CommittedManager
from kctl.client.consumer.managers.coordinator import Coordinator
from kctl.client.consumer.managers.membership import Membership
from kctl.client.consumer.managers.membership_classic import ClassicMembership
from kctl.client.consumer.managers.membership_consumer import ConsumerMembership
from kctl.client.consumer.managers.requests import RequestManager
from kctl.client.seams import Entropy


class GroupDesk:
    """Everything that only a consumer with a group.id has on the network side.

    Attributes: managers: to be polled in this order; the coordinator last, when it knows who wants it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ClusterClient,
        chance: Random,
        entropy: Entropy,
        report: Callable[[ToApplication], None],
        reset: Callable[[ResolvePosition], None],
    ) -> None:
        coordinator = Coordinator(config, group_id, client, chance)
        self._report_further = report
        self._term = 0
        self.membership: Membership
        if config.group_protocol == "consumer":
            self.membership = ConsumerMembership(config, coordinator, client, chance, entropy, self._report)
        else:
            self.membership = ClassicMembership(config, coordinator, client.metadata, chance, self._report)
        self.commits = CommitManager(config, coordinator, self.membership, chance, report)
        self.committed = CommittedManager(config, coordinator, chance, report, reset)
        self.managers: tuple[RequestManager, ...] = (self.commits, self.committed, self.membership, coordinator)

    def take(self, event: GroupToNetwork) -> None:
        """Do what the application wants of the group."""
        match event:
            case Subscribe():
                self.commits.after_pending(lambda: self._subscribe(event))
            case Unsubscribe(deadline_at_ms):
                self.commits.after_pending(lambda: self.membership.leave(deadline_at_ms))
            case ChangeApplied(number):
                self.commits.after_pending(lambda: self.membership.applied(number))
            case PollBegan():
                self.membership.poll_began()
            case PollEnded(at_ms):
                self.membership.poll_ended(at_ms)
            case Rejoin(reason):
                self.membership.rejoin(reason)
            case CommitSync() | CommitAsync():
                self.commits.commit(event)
            case AskCommitted():
                self.committed.ask(event)

    def _subscribe(self, event: Subscribe) -> None:
        self._term = event.term
        self.membership.subscribe(event)

    def _report(self, event: ToApplication) -> None:
        """Pass on what a membership says; the application must know which of its subscriptions that is about."""
        self._report_further(event._replace(term=self._term) if isinstance(event, AssignmentChanged) else event)
