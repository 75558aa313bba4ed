"""Rebalance: JoinGroup and SyncGroup of one classic member."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.classic_generation import (
    FIRST_VERSION_WITH_ID_FIRST,
    JOIN_AGAIN,
    UNKNOWN,
    ClassicRequests,
    Joined,
    partition_counts,
)
from kctl.client.consumer.group.membership import MemberPlace
from kctl.client.consumer.group.states import MemberEvent, MemberState
from kctl.client.consumer.group.timers import Heartbeat, JoinBackoff
from kctl.client.errors import BrokerError, IllegalStateError, KafkaError, RemoteProtocolError
from kctl.client.events import group_logger
from kctl.client.metadata import Metadata
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import MEMBERSHIP
from kctl.client.wording import listed

R = TypeVar("R", JoinGroupResponse, SyncGroupResponse)


class Rebalance:
    """Rebalances of one member.

    Args:
        foreign: returns the assigned topics that are not subscribed.
        on_assigned: gets the assigned partitions, and the send time of SyncGroup.
        on_refused: gets the error of a group that does not know the member.
        on_failed: gets errors that are not retriable.

    Attributes:
        is_under_way: whether a JoinGroup was sent and the SyncGroup response is pending.
        mismatch: difference between the last assignment and the subscription. Empty if they match.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: Coordinator,
        metadata: Metadata,
        place: MemberPlace,
        backoff: JoinBackoff,
        requests: ClassicRequests,
        heartbeat: Heartbeat,
        *,
        foreign: Callable[[tuple[TopicPartition, ...]], list[str]],
        on_assigned: Callable[[tuple[TopicPartition, ...], int], None],
        on_refused: Callable[[BrokerError], None],
        on_failed: Callable[[KafkaError], None],
    ) -> None:
        self.reason = self.mismatch = ""
        self.is_under_way = False
        self.join_sent_at_ms = 0
        self._config = config
        self._coordinator = coordinator
        self._metadata = metadata
        self._place = place
        self._backoff = backoff
        self._requests = requests
        self._heartbeat = heartbeat
        self._foreign = foreign
        self._on_assigned = on_assigned
        self._on_refused = on_refused
        self._on_failed = on_failed
        self._joined: Joined | None = None
        """Last JoinGroup response; None after the end of its generation."""
        self._attempt = 0
        """Number of the join; responses to earlier joins are ignored."""

    @property
    def topics(self) -> tuple[str, ...]:
        return () if self._joined is None else self._joined.topics

    @property
    def is_incomplete(self) -> bool:
        """Whether this static leader keeps an assignment whose partition counts are not recorded."""
        return self._joined is not None and self._joined.keeps_assignment and self._joined.counts is None

    def outdated(self, topics: tuple[str, ...] | None) -> str:
        """Return why the assignment is out of date, or an empty string.

        Args:
            topics: topics that match the subscription. None if unknown.
        """
        joined = self._joined
        if joined is None:
            return ""
        if topics is not None and topics != self._requests.joined_topics:
            return "the topics that match the subscription changed"
        if joined.counts is not None:
            counts = partition_counts(self._metadata, joined.topics)
            if counts is not None and counts != joined.counts:
                return "the number of partitions of a topic changed"
        return ""

    def lost(self) -> None:
        self.is_under_way = False
        self.mismatch = ""
        self._attempt += 1
        self._joined = None
        self._requests.lost()

    # --- requests ---------------------------------------------------------------------------------------------------

    def poll_join(self, now_ms: int, topics: tuple[str, ...], owned: tuple[TopicPartition, ...]) -> Poll:
        if not self._are_connected():
            return Poll([])
        connection, timeout_ms = HELD, self._requests.join_timeout_ms
        if self._is_new and self._coordinator.speaks(PROMPT, JoinGroupRequest, FIRST_VERSION_WITH_ID_FIRST):
            connection, timeout_ms = PROMPT, self._requests.id_timeout_ms(self._backoff.failures)
        try:
            request = self._requests.join(self._place.member_id, self._place.generation, topics, owned, self.reason)
        except IllegalStateError as failed:
            self._on_failed(failed)
            return Poll([])
        self._place.move(MemberEvent.SEND_JOIN)
        self.is_under_way = True
        self.join_sent_at_ms = now_ms
        self._attempt += 1
        attempt = self._attempt
        on_done = partial(self._on_joined, attempt)
        return Poll([self._coordinator.outgoing(connection, request, timeout_ms, on_done)])

    @property
    def _is_new(self) -> bool:
        """Whether the group responds with MEMBER_ID_REQUIRED and a member id, so that JoinGroup is sent twice
        (KIP-394).
        """
        return not self._place.member_id and self._config.group_instance_id is None

    def _are_connected(self) -> bool:
        has_held = self._coordinator.ready(HELD)
        return (not self._is_new or self._coordinator.ready(PROMPT)) and has_held

    def poll_sync(self, now_ms: int) -> Poll:
        if self._place.state is not MemberState.ASSIGNING:
            return Poll([])
        assert self._joined is not None
        counts = partition_counts(self._metadata, self._joined.topics)
        if counts is None or not self._coordinator.ready(HELD):
            return Poll([])
        try:
            assignments = self._joined.assign(counts, self._requests.assignors)
        except IllegalStateError as failed:
            self._on_failed(failed)
            return Poll([])
        self._place.move(MemberEvent.SEND_SYNC)
        attempt = self._attempt
        request = self._requests.sync(self._place.member_id, self._place.generation, self._joined.protocol, assignments)
        timeout_ms = self._config.request_timeout_ms
        on_done = partial(self._on_synced, attempt, now_ms)
        return Poll([self._coordinator.outgoing(HELD, request, timeout_ms, on_done)])

    # --- responses --------------------------------------------------------------------------------------------------

    def _accepted(self, attempt: int, answer: Answer, kind: type[R]) -> R | None:
        if attempt != self._attempt:
            return None
        response = answer.response
        if not isinstance(response, kind):
            self._on_no_response(answer)
            return None
        error = self._coordinator.check(response.error_code, f"join group {self._coordinator.key}")
        if error is None:
            return response
        if isinstance(response, JoinGroupResponse) and response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._place.member_id = response.member_id
        self._on_join_error(error, answer.received_at_ms)
        return None

    def _on_joined(self, attempt: int, answer: Answer) -> None:
        response = self._accepted(attempt, answer, JoinGroupResponse)
        if response is None:
            return
        self._place.member_id = response.member_id
        self._place.generation = response.generation_id
        self._heartbeat.restart(answer.received_at_ms)
        try:
            self._joined = Joined.from_response(response, self._requests.assignors)
        except RemoteProtocolError as malformed:
            self._on_failed(malformed)
            return
        self._place.report()
        self._place.move(MemberEvent.JOINED)

    def _on_synced(self, attempt: int, sent_at_ms: int, answer: Answer) -> None:
        response = self._accepted(attempt, answer, SyncGroupResponse)
        if response is None:
            return
        assert self._joined is not None
        try:
            assigned = self._joined.assigned(response.assignment)
        except RemoteProtocolError as malformed:
            self._on_failed(malformed)
            return
        self.is_under_way = False
        self._heartbeat.restart(answer.received_at_ms)
        foreign = self._foreign(assigned)
        if foreign:
            self._join_without(foreign, answer.received_at_ms)
            return
        self.mismatch = ""
        self._backoff.accepted()
        self._requests.got(assigned, self._place.generation)
        self._place.move(MemberEvent.ACCEPTED)
        self._on_assigned(assigned, sent_at_ms)

    def _join_without(self, foreign: list[str], now_ms: int) -> None:
        """Drop an assignment with topics that are not subscribed, and join again. Repetitions wait for a backoff,
        unlike in Java.
        """
        self.mismatch = f"the assignment contains topics that are not in the subscription: {listed(foreign)}"
        group_logger.warning("rejoining group %s: %s", self._coordinator.key, self.mismatch)
        self.reason = "the assignment does not match the subscription"
        self._place.move(MemberEvent.JOIN)
        self._backoff.asked_again(now_ms)

    def _on_no_response(self, answer: Answer) -> None:
        assert answer.error is not None
        if MEMBERSHIP.is_retried(answer.error):
            self._join_later(answer.received_at_ms, answer.error)
        else:
            self._on_failed(answer.error)

    def _on_join_error(self, error: KafkaError, now_ms: int) -> None:
        code = getattr(error, "code", None)
        if code in JOIN_AGAIN:
            self._place.move(MemberEvent.JOIN)
            self._backoff.asked_again(now_ms, error)
        elif MEMBERSHIP.is_retried(error):
            self._join_later(now_ms, error)
        elif isinstance(error, BrokerError):
            self._on_refused(error)
            if code in UNKNOWN:
                self._join_later(now_ms, error)

    def _join_later(self, now_ms: int, error: KafkaError) -> None:
        self._place.move(MemberEvent.JOIN)
        self._backoff.failed(now_ms, error)
