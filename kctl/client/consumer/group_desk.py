"""GroupDesk: the network side of being in a group: coordinator, membership, commits and committed offsets together.

Owns their order within a turn of the loop, the way of the group's events to them, and the word to those who watch.
Shown by tests/sim/groups.
"""

import logging
from collections.abc import Callable
from random import Random

from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import ResolvePosition, ToApplication
from kctl.client.consumer.group.classic_membership import ClassicMembership
from kctl.client.consumer.group.consumer_membership import ConsumerMembership
from kctl.client.consumer.group.membership import Membership
from kctl.client.consumer.group_events import (
    AskCommitted,
    AssignmentChanged,
    ChangeApplied,
    CommitAsync,
    CommitDone,
    CommitSync,
    GroupToNetwork,
    MemberChanged,
    PollBegan,
    PollEnded,
    Rejoin,
    Subscribe,
    Unsubscribe,
)
from kctl.client.consumer.managers.commits import CommitManager
from kctl.client.consumer.managers.committed import CommittedManager
from kctl.client.events import AutoCommitFailed, MembershipLost
from kctl.client.network.in_flight import Outgoing
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.request import RequestManager
from kctl.client.requests.retry import FIND_COORDINATOR
from kctl.client.seams import Entropy

logger = logging.getLogger("kctl.client.consumer")


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
        coordinator = Coordinator(
            config,
            client,
            chance,
            group_id,
            FIND_COORDINATOR,
            connections=(PROMPT, HELD),
            patience_ms=config.session_timeout_ms // 2,
        )
        self._group_id = group_id
        self._client = client
        self._report_further = report
        self._member_id = ""
        self._owned: tuple[TopicPartition, ...] = ()
        self._automatic: dict[int, CommitAsync] = {}
        """The automatic commits that have not ended."""
        self._term = 0
        self.membership: Membership
        if config.group_protocol == "consumer":
            self.membership = ConsumerMembership(config, coordinator, client, chance, entropy, self._report)
        else:
            self.membership = ClassicMembership(config, coordinator, client.metadata, chance, self._report)
        self.commits = CommitManager(config, coordinator, self.membership, chance, self._report_commit)
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
                if isinstance(event, CommitAsync) and event.may_retry:
                    self._automatic[event.commit_id] = event
                self.commits.commit(event)
            case AskCommitted():
                self.committed.ask(event)

    def last_requests(self, now_ms: int, until_ms: int, *, is_leaving: bool) -> list[Outgoing]:
        """Return what a close without time still sends: commits, then the LeaveGroup, on one connection in that order.

        Source: KIP-102: close(0) attempts to commit and to leave the group without waiting for the responses.
        """
        requests = self.commits.unsent(now_ms)
        if is_leaving:
            self.membership.leave(until_ms)
        else:
            self.membership.remain(until_ms)
        return [*requests, *self.membership.poll(now_ms).requests]

    def _subscribe(self, event: Subscribe) -> None:
        self._term = event.term
        self.membership.subscribe(event)

    def _report(self, event: ToApplication) -> None:
        """Pass on what a membership says; the application must know which of its subscriptions that is about."""
        if isinstance(event, MemberChanged):
            self._member_id = event.metadata.member_id or self._member_id
        if isinstance(event, AssignmentChanged):
            if event.is_lost:
                reason, error = self.membership.loss
                now_ms = self._client.clock.now_ms()
                self._tell(MembershipLost(now_ms, self._group_id, self._member_id, self._owned, reason, error))
            self._owned = event.owned
            event = event._replace(term=self._term)
        self._report_further(event)

    def _report_commit(self, event: ToApplication) -> None:
        """Pass on how a commit ended; of an automatic one that failed nobody else would hear."""
        if isinstance(event, CommitDone):
            automatic = self._automatic.pop(event.commit_id, None)
            if automatic is not None and event.error is not None:
                offsets = tuple((*tp, committed.offset) for tp, committed in automatic.offsets.items())
                now_ms = self._client.clock.now_ms()
                self._tell(AutoCommitFailed(now_ms, self._group_id, offsets, event.error))
        self._report_further(event)

    def _tell(self, event: AutoCommitFailed | MembershipLost) -> None:
        self._client.tell(event)
        logger.warning("%s", event)
