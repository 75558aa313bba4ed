"""Group of the consumer protocol (KIP-848): the coordinator assigns, and members follow with each heartbeat.

The group epoch increases with each change, the target epoch with each assignment, and a member's epoch when the member
reaches the target.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.primitives import uuid_text
from kctl.sandbox.groups.assignors import ASSIGNORS, Situation
from kctl.sandbox.groups.consumer_member import JOIN, LEAVE, LEAVE_STATIC, ConsumerMember, MayDescribe, slots_of
from kctl.sandbox.groups.consumer_records import LAYOUT, snapshot
from kctl.sandbox.groups.member_records import Snapshot, tombstones
from kctl.sandbox.groups.offset_records import Pair
from kctl.sandbox.groups.offsets import Claim
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.reconciliation import MemberProgress, MemberState, Slot, next_step
from kctl.sandbox.groups.surroundings import Surroundings
from kctl.sandbox.regular_expressions import full_matcher

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic

_EPOCH_IN_COMMITS_FROM = 9


class ConsumerGroup:
    kind = "consumer"
    protocol_type = "consumer"

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        self.group_id = group_id
        self.epoch = 1
        self.target_epoch = 1
        self.target: dict[str, tuple[Slot, ...]] = {}
        """Target assignment of each member."""
        self.members: dict[str, ConsumerMember] = {}
        self._settings = surroundings.settings
        self._topics = surroundings.topics
        self._timers = surroundings.timers
        self._new_uuid = surroundings.new_uuid
        self.is_assigned = True
        """False while the target is the former assignment of a classic group."""
        self.is_dissolved = False
        """True after a classic group has replaced this group."""
        self.when_all_are_classic: Callable[[], None] = lambda: None
        """Called when the last member of the consumer protocol leaves and classic members remain."""
        self._seen: dict[bytes, int] = {}
        """Partition counts of the topics in the target assignment."""
        self._written = Snapshot()
        """State in the written records."""
        self._store_changes = surroundings.store_changes

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_name(self) -> str:
        if self.is_empty:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        if all(self._has_arrived(member) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    def _has_arrived(self, member: ConsumerMember) -> bool:
        return member.progress.state is MemberState.STABLE and member.progress.epoch == self.target_epoch

    @property
    def assignor(self) -> str:
        votes = Counter(member.assignor for member in self.members.values() if member.assignor is not None)
        return max(ASSIGNORS, key=lambda name: votes[name])

    # --- heartbeats -------------------------------------------------------------------------------------------------

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, client_id: str, may_describe: MayDescribe
    ) -> ConsumerGroupHeartbeatResponse:
        """Return the response to a heartbeat that `check_heartbeat` accepted.

        Args:
            may_describe: returns whether the client may describe a topic.
        """
        if request.member_epoch in (LEAVE, LEAVE_STATIC):
            return self._leave(request)
        member = self._member_of(request, client_id)
        before = member.subscription
        is_new = member.rebalance_timeout_ms == -1
        member.may_describe = may_describe
        member.listen(request)
        self.renew_target(is_changed=is_new or before != member.subscription)
        had, owned = member.progress, slots_of(request)
        target = self.target.get(member.member_id, ())
        member.advance(next_step(had, self.target_epoch, target, owned, self.is_free))
        if had != member.progress:
            self._limit_revocation(member)
        self.expect_heartbeat(member)
        self.store()
        is_full = request.member_epoch == JOIN or (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and owned is not None
        )
        is_news = is_full or set(had.assigned) != set(member.progress.assigned)
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.progress.epoch,
            heartbeat_interval_ms=self._settings.group_consumer_heartbeat_interval_ms,
            assignment=_assignment(member.progress.assigned) if is_news else None,
        )

    def is_free(self, slot: Slot) -> bool:
        return not any(member.progress.owns(slot) for member in self.members.values())

    # --- members of requests ------------------------------------------------------------------------------------------

    def _member_of(self, request: ConsumerGroupHeartbeatRequest, client_id: str) -> ConsumerMember:
        joins = request.member_epoch == JOIN
        member_id = request.member_id or uuid_text(self._new_uuid())
        holder = self.holder(request.instance_id)
        if holder is not None and holder.member_id != member_id:
            if not joins:
                raise _fenced_instance(request, holder)
            return self._take_over(holder, member_id)
        member = self.members.get(member_id)
        if member is not None and request.instance_id not in (None, member.instance_id):
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {request.instance_id} is unknown.")
        if member is None:
            if not joins:
                raise _unknown(request)
            member = self.members[member_id] = ConsumerMember(member_id, request.instance_id, client_id)
        member.check_epoch(request.member_epoch, slots_of(request))
        return member

    def holder(self, instance_id: str | None) -> ConsumerMember | None:
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    def _take_over(self, holder: ConsumerMember, member_id: str) -> ConsumerMember:
        if holder.progress.epoch != LEAVE_STATIC:
            text = (
                f"Static member {member_id} with instance id {holder.instance_id} cannot join the group because the "
                f"instance id is owned by member {holder.member_id}."
            )
            raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, text)
        return self.replace(holder, member_id)

    def replace(self, holder: ConsumerMember, member_id: str) -> ConsumerMember:
        """Replace `holder` by a new static member with the same assignment."""
        member = ConsumerMember(member_id, holder.instance_id, holder.client_id)
        member.topic_names, member.regex, member.assignor = holder.topic_names, holder.regex, holder.assignor
        member.rack_id, member.rebalance_timeout_ms = holder.rack_id, holder.rebalance_timeout_ms
        member.stay(MemberProgress(MemberState.STABLE, JOIN, holder.progress.assigned))
        self._forget(holder)
        self.members[member_id] = member
        self.target[member_id] = self.target.pop(holder.member_id, ())
        self.store()
        return member

    # --- target assignment --------------------------------------------------------------------------------------------

    def renew_target(self, *, is_changed: bool) -> None:
        """Compute a new target assignment if members, subscriptions, or topics changed."""
        wants = {member.member_id: self._topic_ids(member) for member in self.members.values()}
        sizes = {
            topic.topic_id: len(topic.partitions)
            for topic in sorted(self._topics.values(), key=lambda topic: topic.name)
            if any(topic.topic_id in ids for ids in wants.values())
        }
        if is_changed or sizes != self._seen:
            self.epoch += 1
        if self.epoch == self.target_epoch:
            return
        self._seen = sizes
        self.target = ASSIGNORS[self.assignor](Situation(wants, sizes, self.target))
        self.target_epoch = self.epoch
        self.is_assigned = True

    def _topic_ids(self, member: ConsumerMember) -> tuple[bytes, ...]:
        return tuple(topic.topic_id for topic in self._topics_of(member))

    def topics_of(self, member: ConsumerMember) -> list[str]:
        return [topic.name for topic in self._topics_of(member)]

    def _topics_of(self, member: ConsumerMember) -> "list[Topic]":
        named = set(member.topic_names)
        matches = full_matcher(member.regex) if member.regex else None
        return [
            topic
            for topic in self._topics.values()
            if topic.name in named or (matches is not None and matches(topic.name) and member.may_describe(topic.name))
        ]

    # --- leaving and timeouts -----------------------------------------------------------------------------------------

    def leave(self, leaving: Sequence[tuple[str, str | None]]) -> list[ErrorCode]:
        codes = []
        next_epoch = self.epoch + 1
        for member_id, instance_id in leaving:
            member = self.members.get(member_id) if instance_id is None else self.holder(instance_id)
            if member is None:
                codes.append(ErrorCode.UNKNOWN_MEMBER_ID)
            elif member_id not in ("", member.member_id):
                codes.append(ErrorCode.FENCED_INSTANCE_ID)
            else:
                self.remove(member)
                codes.append(ErrorCode.NONE)
        self.epoch = min(self.epoch, next_epoch)  # one change, regardless of the number of members
        self.store()
        return codes

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        if request.instance_id is None:
            member = self.members.get(request.member_id)
        else:
            member = self.holder(request.instance_id)
            if member is not None and member.member_id != request.member_id:
                raise _fenced_instance(request, member)
        if member is None:
            raise _unknown(request)
        if request.member_epoch == LEAVE_STATIC:
            # static members keep their partitions until they return or their session expires
            self._timers.cancel(f"revocation {member.member_id}")
            member.stay(MemberProgress(MemberState.STABLE, LEAVE_STATIC, member.progress.assigned))
        else:
            self.remove(member)
        self.store()
        return ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)

    def remove(self, member: ConsumerMember) -> None:
        """Remove a member, and convert the group if only classic members remain."""
        self._forget(member)
        self.target.pop(member.member_id, None)
        are_classic = bool(self.members) and all(one.classic_protocols is not None for one in self.members.values())
        if are_classic and member.classic_protocols is None:
            self.when_all_are_classic()
        else:
            self.epoch += 1

    def expire(self, member: ConsumerMember) -> None:
        self.remove(member)
        self.store()

    def _forget(self, member: ConsumerMember) -> None:
        self._timers.cancel(f"session {member.member_id}")
        for limit in ("revocation", "join", "sync"):
            self._timers.cancel(f"{limit} {member.member_id}")
        del self.members[member.member_id]

    def expect_heartbeat(self, member: ConsumerMember) -> None:
        session_ms = member.session_timeout_ms or self._settings.group_consumer_session_timeout_ms
        self._timers.start(f"session {member.member_id}", session_ms, lambda: self.expire(member))

    def _limit_revocation(self, member: ConsumerMember) -> None:
        name = f"revocation {member.member_id}"
        if member.progress.state is MemberState.UNREVOKED:
            self._timers.start(name, member.rebalance_timeout_ms, lambda: self.expire(member))
        else:
            self._timers.cancel(name)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def check_commit(self, claim: Claim) -> None:
        if claim.epoch < 0 and self.is_empty:
            return
        if claim.is_transactional and claim.epoch < 0 and not claim.member_id and claim.instance_id is None:
            return
        member = self.members.get(claim.member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if member.classic_protocols is not None:
            self._check_classic_commit(member, claim)
            return
        if claim.version < _EPOCH_IN_COMMITS_FROM and not claim.is_transactional:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        member.check_offsets(claim.epoch, claim.slots)

    def _check_classic_commit(self, member: ConsumerMember, claim: Claim) -> None:
        try:
            member.check_offsets(claim.epoch, claim.slots)
        except Refused:
            raise Refused(ErrorCode.ILLEGAL_GENERATION) from None

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raise Refused if a client may not fetch offsets. Only members need an epoch."""
        if member_id is None and epoch < 0:
            return
        member = self.members.get(member_id or "")
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        member.check_offsets(epoch, None)

    def subscribed_topics(self) -> set[str]:
        return {name for member in self.members.values() for name in self.topics_of(member)}

    # --- records ------------------------------------------------------------------------------------------------------

    def store(self) -> None:
        if self.is_dissolved:
            return
        now = snapshot(self, self._topics)
        if now != self._written:
            self._store_changes(LAYOUT, self._written, now)
            self._written = now

    def tombstones(self) -> list[Pair]:
        return tombstones(LAYOUT, self.group_id, self._written)

    # --- moves of the coordinator -------------------------------------------------------------------------------------

    def unload(self) -> None:
        self._timers.cancel_all()

    def load(self) -> None:
        for member in self.members.values():
            self.expect_heartbeat(member)
            self._limit_revocation(member)


def _assignment(slots: tuple[Slot, ...]) -> Assignment:
    by_topic: dict[bytes, list[int]] = {}
    for slot in sorted(slots):
        by_topic.setdefault(slot.topic_id, []).append(slot.partition)
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in by_topic.items()
        ]
    )


def _unknown(request: ConsumerGroupHeartbeatRequest) -> Refused:
    text = f"Member {request.member_id} is not a member of group {request.group_id}."
    return Refused(ErrorCode.UNKNOWN_MEMBER_ID, text)


def _fenced_instance(request: ConsumerGroupHeartbeatRequest, holder: ConsumerMember) -> Refused:
    text = (
        f"Static member {request.member_id} with instance id {request.instance_id} was fenced by member "
        f"{holder.member_id}."
    )
    return Refused(ErrorCode.FENCED_INSTANCE_ID, text)
