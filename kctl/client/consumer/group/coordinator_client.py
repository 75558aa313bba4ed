"""GroupCoordinatorClient: network side of a consumer group.

Owns the coordinator, the membership, commits, and committed offsets.
"""

import logging
from collections.abc import Callable, Collection
from random import Random
from typing import Any

from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import Report, ResolvePosition
from kctl.client.consumer.group.classic_membership import ClassicMembership
from kctl.client.consumer.group.commits import CommitManager, IdsOf
from kctl.client.consumer.group.committed_offsets import CommittedManager
from kctl.client.consumer.group.consumer_membership import ConsumerMembership
from kctl.client.consumer.group.events import (
    AssignmentChanged,
    ChangeApplied,
    CommitAsync,
    CommitDone,
    MemberChanged,
    PollBegan,
    PollEnded,
    Rejoin,
    Subscribe,
    Unsubscribe,
)
from kctl.client.consumer.group.membership import Membership
from kctl.client.errors import CloseTimeout, KafkaError
from kctl.client.events import AutoCommitFailed, GroupChanged, GroupStep, MembershipLost, is_of_commit
from kctl.client.network.in_flight import Outgoing
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import RequestManager
from kctl.client.requests.retry import FIND_COORDINATOR
from kctl.client.runtime import Entropy
from kctl.client.wording import listed

logger = logging.getLogger("kctl.client.consumer")


class GroupCoordinatorClient:
    """Network side of a consumer with a group.id.

    Attributes:
        managers: request managers in the order of polling. The coordinator is last, because the others use it.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        group_id: str,
        client: ClusterClient,
        leaders: Leaders,
        ids_of: IdsOf,
        rng: Random,
        entropy: Entropy,
        report: Callable[[Report], None],
        reset: Callable[[ResolvePosition], None],
    ) -> None:
        coordinator = Coordinator(
            config,
            client,
            rng,
            group_id,
            FIND_COORDINATOR,
            connections=(PROMPT, HELD),
            patience_ms=config.session_timeout_ms // 2,
        )
        self._coordinator = coordinator
        self._group_id = group_id
        self._request_timeout_ms = config.request_timeout_ms
        self._client = client
        self._report_further = report
        self._member_id = ""
        self._generation = -1
        self._owned: tuple[TopicPartition, ...] = ()
        self._unheard: dict[int, CommitAsync] = {}
        """Unfinished commits without a callback, such as automatic ones."""
        self._term = 0
        self._is_polled = False
        self.membership: Membership
        if config.group_protocol == "consumer":
            self.membership = ConsumerMembership(config, coordinator, client, rng, entropy, self._report)
        else:
            self.membership = ClassicMembership(config, coordinator, client.metadata, rng, self._report)
        self.commits = CommitManager(config, coordinator, self.membership, leaders, ids_of, rng, self._report_commit)
        self.committed = CommittedManager(config, coordinator, rng, report, reset)
        self.managers: tuple[RequestManager, ...] = (self.commits, self.committed, self.membership, coordinator)
        membership = self.membership

        membership.awaited_commit = lambda: self.commits.waiting_for if self.commits.holds_up else None
        self.handlers: dict[type, Callable[[Any], None]] = {
            Subscribe: lambda event: self._before_release((), lambda: self._subscribe(event)),
            Unsubscribe: lambda _: self._before_release(membership.held, self._leave),
            ChangeApplied: self._applied,
            PollBegan: self._poll_began,
            PollEnded: self._poll_ended,
            Rejoin: lambda event: membership.rejoin(event.reason),
            CommitAsync: self._commit,
        }

    def last_requests(self, now_ms: int, until_ms: int, late: CloseTimeout, *, is_leaving: bool) -> list[Outgoing]:
        """Return the requests of a close whose time is over, in the order of sending on one connection (KIP-102)."""
        requests = self.commits.unsent(now_ms)
        self.commits.abort(late)
        if is_leaving:
            self.membership.leave(until_ms)
        else:
            self.membership.remain(until_ms)
        return [*requests, *self.membership.poll(now_ms).requests]

    def _applied(self, event: ChangeApplied) -> None:
        if released := self.membership.released:
            self._before_release(released, lambda: self.membership.applied(event.number))
        else:
            self.membership.applied(event.number)

    def _leave(self) -> None:
        self.membership.leave(self._client.clock.now_ms() + self._request_timeout_ms)

    def _before_release(self, released: Collection[TopicPartition], action: Callable[[], None]) -> None:
        self.commits.before_release(released, action, self._client.clock.now_ms())

    def _commit(self, event: CommitAsync) -> None:
        if not event.has_callback:
            self._unheard[event.commit_id] = event
        self.commits.commit(event)

    def _subscribe(self, event: Subscribe) -> None:
        self._term = event.term
        self.membership.subscribe(event)
        if self._is_polled:  # the poll began while the subscription waited for commits
            self.membership.poll_began()

    def _poll_began(self, _: PollBegan) -> None:
        self._is_polled = True
        self.membership.poll_began()

    def _poll_ended(self, event: PollEnded) -> None:
        self._is_polled = False
        self.membership.poll_ended(event.at_ms)

    def _report(self, event: Report) -> None:
        if isinstance(event, MemberChanged):
            self._member_id = event.metadata.member_id or self._member_id
            if event.metadata.generation >= 0:
                self._generation = event.metadata.generation
                self._note(GroupStep.JOINED)
        if isinstance(event, AssignmentChanged):
            if event.is_lost:
                reason, error = self.membership.loss
                now_ms = self._client.clock.now_ms()
                self._publish(MembershipLost(now_ms, self._group_id, self._member_id, event.lost, reason, error))
            else:
                self._note_changes(event)
            self._owned = event.owned
            event = event._replace(term=self._term)
        self._report_further(event)

    def _note_changes(self, event: AssignmentChanged) -> None:
        before, after = set(self._owned), set(event.owned)
        if revoked := tuple(tp for tp in self._owned if tp not in after):
            self._note(GroupStep.REVOKED, revoked)
        if assigned := tuple(tp for tp in event.owned if tp not in before):
            self._note(GroupStep.ASSIGNED, assigned)

    def _note(self, step: GroupStep, partitions: tuple[TopicPartition, ...] = ()) -> None:
        now_ms = self._client.clock.now_ms()
        self._coordinator.note(
            GroupChanged(now_ms, self._group_id, self._member_id, self._generation, step, partitions)
        )

    def _report_commit(self, event: Report) -> None:
        """Pass on the end of a commit. Log failures of commits without a callback, and publish automatic commits."""
        if isinstance(event, CommitDone):
            commit = self._unheard.pop(event.commit_id, None)
            if commit is not None and event.error is not None:
                self._report_unheard(commit, event.error)
        self._report_further(event)

    def _report_unheard(self, commit: CommitAsync, error: KafkaError) -> None:
        if commit.may_retry:
            offsets = tuple((*tp, committed.offset) for tp, committed in commit.offsets.items())
            self._publish(AutoCommitFailed(self._client.clock.now_ms(), self._group_id, offsets, error))
        else:
            what = listed(f"{tp} at {committed.offset}" for tp, committed in commit.offsets.items())
            if is_of_commit(error):
                logger.warning("group %s: %s (commit of %s)", self._group_id, error, what)
            else:
                logger.warning("cannot commit offsets of group %s (%s): %s", self._group_id, what, error)

    def _publish(self, event: AutoCommitFailed | MembershipLost) -> None:
        self._client.report(event)
        logger.warning("%s", event)
