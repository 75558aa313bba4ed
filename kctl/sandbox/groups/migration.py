"""Migration between the classic and the consumer protocol, with members of both.

The first member of the consumer protocol converts a classic group, and the last one to leave converts it back. Source:
KIP-848, and group.consumer.migration.policy=bidirectional.
"""

from uuid import UUID

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kctl.sandbox.groups import embedded
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.classic_member import ClassicMember, refused_join
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.groups.consumer_member import ConsumerMember
from kctl.sandbox.groups.outbox import Asker, Refused, no_group
from kctl.sandbox.groups.reconciliation import MemberProgress, MemberState, next_step
from kctl.sandbox.groups.surroundings import Surroundings

_PROTOCOL_TYPE = "consumer"
_IDS_FIRST_FROM = 4


def upgraded(classic: ClassicGroup, surroundings: Surroundings) -> ConsumerGroup:
    group_id = classic.group_id
    if classic.protocol_type != _PROTOCOL_TYPE:
        raise no_group(group_id, "consumer group", exists=True)
    group = ConsumerGroup(group_id, surroundings)
    group.epoch = group.target_epoch = classic.roster.generation
    group.is_assigned = False
    try:
        for old in classic.members.values():
            member = _consumer_member(old, classic, surroundings)
            group.members[member.member_id] = member
            group.target[member.member_id] = member.progress.assigned
    except (embedded.Malformed, KeyError):
        text = (
            f"Cannot upgrade the classic group {group_id} to consumer group because the embedded consumer protocol is "
            f"malformed."
        )
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, text) from None
    return group


def _consumer_member(old: ClassicMember, classic: ClassicGroup, surroundings: Surroundings) -> ConsumerMember:
    said = embedded.subscription(old.protocols[classic.roster.protocol])
    member = ConsumerMember(old.member_id, old.instance_id, old.client_id)
    member.rack_id = said.rack_id
    member.rebalance_timeout_ms = old.rebalance_timeout_ms
    member.topic_names = tuple(sorted(said.topics))
    member.become_classic(old.protocols, old.session_timeout_ms)
    assigned = embedded.assigned_slots(old.assignment, surroundings.topics)
    member.advance(MemberProgress(MemberState.STABLE, classic.roster.generation, assigned))
    member.previous_epoch = classic.roster.generation
    return member


def downgraded(group: ConsumerGroup, surroundings: Surroundings) -> ClassicGroup:
    """Return a classic group with the members of a consumer group, and start a rebalance."""
    members = []
    for old in group.members.values():
        member = ClassicMember(old.member_id, old.instance_id, old.client_id)
        member.session_timeout_ms = old.session_timeout_ms or 0
        member.rebalance_timeout_ms = old.rebalance_timeout_ms
        member.protocols = dict(old.classic_protocols or {})
        member.is_new = False
        target = group.target.get(old.member_id, ())
        first = next(iter(member.protocols.values()))
        member.assignment = embedded.assignment_bytes(target, surroundings.topics, first)
        members.append(member)
    classic = ClassicGroup(group.group_id, surroundings)
    classic.continue_with(members, group.epoch, _PROTOCOL_TYPE)
    return classic


class ClassicSide:
    """Consumer group, as seen by its classic members."""

    def __init__(self, group: ConsumerGroup, surroundings: Surroundings) -> None:
        self._group = group
        self._topics = surroundings.topics
        self._timers = surroundings.timers
        self._outbox = surroundings.outbox
        self._new_uuid = surroundings.new_uuid

    # --- JoinGroup --------------------------------------------------------------------------------------------------

    def join(self, asker: Asker, request: JoinGroupRequest) -> None:
        """Respond immediately, because the coordinator assigns without waiting for members."""
        try:
            self._join(asker, request)
        except Refused as refusal:
            self._outbox.post(asker, refused_join(refusal.code, "", asker.version))

    def _join(self, asker: Asker, request: JoinGroupRequest) -> None:
        if not self._fits(request):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        member_id = request.member_id or str(UUID(bytes=self._new_uuid()))
        if not request.member_id and request.group_instance_id is None and asker.version >= _IDS_FIRST_FROM:
            self._outbox.post(asker, refused_join(ErrorCode.MEMBER_ID_REQUIRED, member_id, asker.version))
            return
        try:
            said = embedded.subscription(request.protocols[0].metadata)
        except embedded.Malformed:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None
        group = self._group
        member = self._member(asker, request, member_id)
        before, is_new = member.subscription, member.rebalance_timeout_ms == -1
        member.rack_id = said.rack_id or member.rack_id
        wanted_ms = request.rebalance_timeout_ms
        member.rebalance_timeout_ms = wanted_ms if wanted_ms >= 0 else request.session_timeout_ms
        member.topic_names = tuple(sorted(said.topics))
        member.become_classic({one.name: one.metadata for one in request.protocols}, request.session_timeout_ms)
        group.renew_target(is_changed=is_new or before != member.subscription)
        owned = embedded.slots_named(said.owned_partitions, self._topics)
        target = group.target.get(member.member_id, ())
        member.advance(next_step(member.progress, group.target_epoch, target, owned, group.is_free))
        group.store()
        self._timers.cancel(f"join {member.member_id}")
        group.expect_heartbeat(member)
        self._limit("sync", member)
        response = JoinGroupResponse(
            generation_id=member.progress.epoch,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=request.protocols[0].name,
            member_id=member.member_id,
        )
        self._outbox.post(asker, response)

    def _fits(self, request: JoinGroupRequest) -> bool:
        if request.protocol_type != _PROTOCOL_TYPE or not request.protocols:
            return False
        others = [one.classic_protocols for one in self._group.members.values() if one.classic_protocols is not None]
        return any(all(offer.name in one for one in others) for offer in request.protocols)

    def _member(self, asker: Asker, request: JoinGroupRequest, member_id: str) -> ConsumerMember:
        group, instance_id = self._group, request.group_instance_id
        holder = group.holder(instance_id)
        if holder is not None and holder.member_id != member_id:
            if request.member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID)
            return group.replace(holder, member_id)
        known = group.members.get(member_id)
        if known is None:
            known = group.members[member_id] = ConsumerMember(member_id, instance_id, asker.client_id)
        return known

    def _limit(self, name: str, member: ConsumerMember) -> None:
        group = self._group
        self._timers.start(f"{name} {member.member_id}", member.rebalance_timeout_ms, lambda: group.expire(member))

    def _limit_join(self, member: ConsumerMember) -> None:
        if f"join {member.member_id}" not in self._timers.names:
            self._limit("join", member)

    # --- SyncGroup and Heartbeat ------------------------------------------------------------------------------------

    def sync(self, asker: Asker, request: SyncGroupRequest) -> None:
        """Respond with the current assignment, or raise Refused."""
        member = self._known(request.member_id, request.group_instance_id, request.generation_id)
        protocols = member.classic_protocols or {}
        first = next(iter(protocols))
        if request.protocol_type not in (None, _PROTOCOL_TYPE) or request.protocol_name not in (None, first):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_behind = self._group.epoch > member.progress.epoch
        if is_behind and member.progress.state is not MemberState.UNREVOKED:
            self._limit_join(member)
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        self._timers.cancel(f"sync {member.member_id}")
        self._group.expect_heartbeat(member)
        assigned = embedded.assignment_bytes(member.progress.assigned, self._topics, protocols[first])
        response = SyncGroupResponse(
            protocol_type=request.protocol_type, protocol_name=request.protocol_name, assignment=assigned
        )
        self._outbox.post(asker, response)

    def heartbeat(self, request: HeartbeatRequest) -> None:
        """Extend the session of a member. Raise Refused if it must rejoin."""
        member = self._known(request.member_id, request.group_instance_id, request.generation_id)
        self._group.expect_heartbeat(member)
        if self._has_to_join(member):
            self._limit_join(member)
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def _has_to_join(self, member: ConsumerMember) -> bool:
        progress, group = member.progress, self._group
        if progress.epoch < group.epoch or progress.state is MemberState.UNREVOKED:
            return True
        missing = [slot for slot in group.target.get(member.member_id, ()) if slot not in progress.assigned]
        return progress.state is MemberState.UNRELEASED and all(group.is_free(slot) for slot in missing)

    def _known(self, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
        holder = self._group.holder(instance_id)
        if holder is not None and holder.member_id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        member = self._group.members.get(member_id)
        if member is None or (instance_id is not None and holder is None) or member.classic_protocols is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if generation != member.progress.epoch:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member
