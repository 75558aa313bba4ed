"""Groups of a cluster: their coordinators, members, and committed offsets.

If the coordinator moves or gets an error, waiting requests fail, and timeouts restart later.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.groups.migration import ClassicSide, downgraded, upgraded
from kctl.sandbox.groups.offsets import Claim, CommittedOffset
from kctl.sandbox.groups.offsets_topic import OffsetsTopic
from kctl.sandbox.groups.outbox import Outbox, Refused, no_group
from kctl.sandbox.groups.share import ShareGroup
from kctl.sandbox.groups.streams import StreamsGroup
from kctl.sandbox.groups.surroundings import Surroundings
from kctl.sandbox.groups.timers import GroupTimers
from kctl.sandbox.partition import NO_LEADER
from kctl.sandbox.uuids import stable_uuid

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster, ClusterNode

Group = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup
G = TypeVar("G", ShareGroup, StreamsGroup)
TROUBLES = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
"""Coordinator errors. With COORDINATOR_NOT_AVAILABLE, FindCoordinator fails too."""


class Groups:
    def __init__(self, cluster: "Cluster") -> None:
        self.outbox = Outbox()
        self.offsets: dict[str, dict[tuple[str, int], CommittedOffset]] = {}
        """Committed offsets by group, then by topic and partition."""
        self._cluster = cluster
        self.topic = OffsetsTopic(cluster)
        self._groups: dict[str, Group] = {}
        self._timers: dict[str, GroupTimers] = {}
        self._last_led: dict[int, int] = {}
        """Last leader of each partition of __consumer_offsets that was moved."""
        self._is_topic_gone = False
        """True after __consumer_offsets was deleted."""
        self._troubles: dict[str, ErrorCode] = {}
        self._uuids_made = 0
        self._writes = 0
        self._written: dict[tuple[str, str, int], int] = {}
        """Number of the write of each committed offset, by group, topic, and partition."""
        for node in cluster.nodes.values():
            node.faults.on_change(self._thaw)

    def _thaw(self) -> None:
        for timers in list(self._timers.values()):
            timers.thaw()

    # --- coordinators -------------------------------------------------------------------------------------------------

    def node_of(self, group_id: str) -> "ClusterNode":
        ids = list(self._cluster.nodes)
        index = self.topic.index_of(group_id)
        leader_id = self.topic.leader_of(index)
        if leader_id is None or leader_id == NO_LEADER:
            leader_id = self._last_led.get(index, ids[index % len(ids)])
        return self._cluster.nodes[leader_id]

    def move(self, group_id: str, node_id: int) -> None:
        """Move the coordinator of all groups in a group's partition of __consumer_offsets."""
        index = self.topic.index_of(group_id)
        self._cluster.nodes[node_id]
        self.topic.create()
        if not self.topic.move(group_id, node_id):
            self._last_led[index] = node_id
            self._reload(index)

    def log_moved(self, index: int) -> None:
        """Move groups to the new leader of their __consumer_offsets partition, or to no node."""
        leader_id = self.topic.leader_of(index)
        if leader_id is not None and leader_id != NO_LEADER:
            self._last_led[index] = leader_id
        self._reload(index)

    def _reload(self, index: int) -> None:
        moved = [group_id for group_id in self._groups if self.topic.index_of(group_id) == index]
        with self.outbox:  # refused members cannot return before the next coordinator is ready
            for group_id in moved:
                self._unload(group_id)
            for group_id in moved:
                self._load(group_id)

    def trouble(self, group_id: str, code: ErrorCode | None) -> None:
        """Fail all requests of a group with one of `TROUBLES`. None stops the errors."""
        if code is not None and code not in TROUBLES:
            names = ", ".join(one.name for one in TROUBLES)
            raise ValueError(f"{code.name} is not a coordinator error: use one of {names}")
        if code is None and group_id not in self._troubles:
            return
        with self.outbox:
            self._unload(group_id)
            if code is None:
                self._troubles.pop(group_id, None)
            else:
                self._troubles[group_id] = code
            self._load(group_id)

    def _unload(self, group_id: str) -> None:
        group = self._groups.get(group_id)
        if group is not None and group_id not in self._troubles:
            group.unload()

    def _load(self, group_id: str) -> None:
        group = self._groups.get(group_id)
        if group is not None and group_id not in self._troubles:
            group.load()

    def lookup_error(self, group_id: str) -> ErrorCode:
        code = self._troubles.get(group_id, ErrorCode.NONE)
        is_led = self.topic.leader_of(self.topic.index_of(group_id)) != NO_LEADER
        is_found = is_led and code is not ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE if is_found else ErrorCode.COORDINATOR_NOT_AVAILABLE

    def error(self, group_id: str, node: "ClusterNode") -> ErrorCode:
        code = self._troubles.get(group_id, ErrorCode.NONE)
        leader_id = self.topic.leader_of(self.topic.index_of(group_id))
        is_led = leader_id != NO_LEADER and (leader_id is not None or not self._is_topic_gone)
        if code is ErrorCode.NONE and not (is_led and self.node_of(group_id) is node):
            return ErrorCode.NOT_COORDINATOR
        return code

    def check(self, group_id: str, node: "ClusterNode", *, may_be_nameless: bool = False) -> None:
        is_nameless = not group_id and not may_be_nameless
        code = ErrorCode.INVALID_GROUP_ID if is_nameless else self.error(group_id, node)
        if code is not ErrorCode.NONE:
            raise Refused(code)

    # --- groups -------------------------------------------------------------------------------------------------------

    def get(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def on(self, node: "ClusterNode") -> Iterator[Group]:
        for group_id, group in self._groups.items():
            if self.node_of(group_id) is node:
                yield group

    def members(self, group_id: str) -> list[str]:
        group = self._groups.get(group_id)
        return [] if group is None else list(group.members)

    def expire_session(self, group_id: str, member_id: str) -> None:
        if member_id not in self.members(group_id):
            raise KeyError(member_id)
        self._timers[group_id].run_now(f"session {member_id}")

    def classic(self, group_id: str, *, create: bool) -> ClassicGroup | ClassicSide:
        """Return the classic group, or the classic side of a consumer group with members.

        Args:
            create: create a missing group, or convert an empty consumer group. If False, raise Refused.
        """
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return group
        if isinstance(group, ShareGroup | StreamsGroup):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL if create else ErrorCode.UNKNOWN_MEMBER_ID)
        if group is not None and not group.is_empty:
            return ClassicSide(group, self._surroundings_of(group_id))
        if not create:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if group is not None:
            self.topic.gone(group_id, (), group.tombstones())
        made = ClassicGroup(group_id, self._surroundings(group_id))
        self._groups[group_id] = made
        return made

    def consumer(self, group_id: str, *, create: bool) -> ConsumerGroup:
        """Return the consumer group.

        Args:
            create: create a missing group, or convert another group. If False, raise Refused.
        """
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if isinstance(group, ShareGroup | StreamsGroup):
            raise no_group(group_id, "consumer group", exists=True)
        is_other = group is not None and not group.is_empty
        if not create:
            raise no_group(group_id, "consumer group", exists=is_other)
        if group is not None and is_other:
            return self._upgrade(group)
        if group is not None:
            self.topic.gone(group_id, (), group.tombstones())
        made = ConsumerGroup(group_id, self._surroundings(group_id))
        return self._install(made)

    def share(self, group_id: str, *, create: bool) -> ShareGroup:
        return self._of_kind(ShareGroup, group_id, "share group", create=create)

    def streams(self, group_id: str, *, create: bool) -> StreamsGroup:
        return self._of_kind(StreamsGroup, group_id, "streams group", create=create)

    def _of_kind(self, kind: type[G], group_id: str, name: str, *, create: bool) -> G:
        group = self._groups.get(group_id)
        if isinstance(group, kind):
            return group
        if group is not None or not create:
            raise no_group(group_id, name, exists=group is not None)
        made = kind(group_id, self._surroundings(group_id))
        self._groups[group_id] = made
        return made

    def _install(self, group: ConsumerGroup) -> ConsumerGroup:
        group.when_all_are_classic = lambda: self._downgrade(group)
        self._groups[group.group_id] = group
        return group

    def _upgrade(self, classic: ClassicGroup) -> ConsumerGroup:
        upgraded(classic, self._surroundings_of(classic.group_id))  # raises before any change
        with self.outbox:
            classic.dissolve()
        self.topic.gone(classic.group_id, (), classic.tombstones())
        group = self._install(upgraded(classic, self._surroundings(classic.group_id)))
        for member in group.members.values():
            group.expect_heartbeat(member)
        group.store()
        return group

    def _downgrade(self, group: ConsumerGroup) -> None:
        group.is_dissolved = True
        self.topic.gone(group.group_id, (), group.tombstones())
        self._groups[group.group_id] = downgraded(group, self._surroundings(group.group_id))

    def _surroundings(self, group_id: str) -> Surroundings:
        timers = self._timers.get(group_id)
        if timers is not None:
            timers.cancel_all()
        cluster = self._cluster
        timers = GroupTimers(lambda: cluster.scheduler, lambda: self.node_of(group_id).faults.is_frozen, self.outbox)
        self._timers[group_id] = timers
        return self._surroundings_of(group_id)

    def _surroundings_of(self, group_id: str) -> Surroundings:
        cluster = self._cluster
        return Surroundings(
            cluster.settings,
            cluster.topics,
            self._timers[group_id],
            self.outbox,
            self._new_uuid,
            lambda value: self.topic.joined(group_id, value),
            lambda *change: self.topic.changed(group_id, *change),
        )

    def _new_uuid(self) -> bytes:
        self._uuids_made += 1
        return stable_uuid(f"{self._cluster.settings.cluster_id}/member/{self._uuids_made}")

    def delete(self, group_id: str) -> None:
        """Delete a group and its offsets, or raise Refused."""
        group = self._groups.get(group_id)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        self._timers.pop(group_id).cancel_all()
        del self._groups[group_id]
        self.topic.gone(group_id, [*self.offsets.pop(group_id, {})], group.tombstones())
        self._cluster.transactions.offsets.forget(lambda name, _: name == group_id)

    def forget_topic(self, name: str) -> None:
        for group_id, committed in self.offsets.items():
            self.forget(group_id, [key for key in committed if key[0] == name])

    def forget_all(self) -> None:
        """Delete all groups and offsets after the deletion of __consumer_offsets. Waiting requests fail."""
        self._is_topic_gone = True
        with self.outbox:
            for group_id in list(self._groups):
                self._unload(group_id)
                self._timers.pop(group_id).cancel_all()
            self._groups.clear()
            self.offsets.clear()
            self._cluster.transactions.offsets.forget(lambda _group, _topic: True)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def check_commit(self, group_id: str, claim: Claim) -> None:
        """Raise Refused if a client may not commit offsets. The first commit creates a group."""
        group = self._groups.get(group_id)
        if group is None:
            if claim.epoch >= 0:
                raise Refused(ErrorCode.ILLEGAL_GENERATION if claim.version < 9 else ErrorCode.GROUP_ID_NOT_FOUND)
            self.classic(group_id, create=True)
            return
        group.check_commit(claim)

    def commit(self, group_id: str, offsets: Mapping[tuple[str, int], CommittedOffset]) -> None:
        if offsets:
            self.topic.committed(group_id, offsets)
        for (topic, index), committed in offsets.items():
            self.keep(group_id, topic, index, committed, self.next_write())

    def forget(self, group_id: str, offsets: Sequence[tuple[str, int]]) -> None:
        committed = self.offsets.get(group_id, {})
        there = [one for one in offsets if committed.pop(one, None) is not None]
        self.topic.gone(group_id, there)

    def keep(self, group_id: str, topic: str, index: int, committed: CommittedOffset, number: int) -> None:
        """Store an offset whose record is written, unless an offset with a greater `number` is stored."""
        if self._written.get((group_id, topic, index), 0) > number:
            return
        self._written[group_id, topic, index] = number
        self.offsets.setdefault(group_id, {})[topic, index] = committed

    def next_write(self) -> int:
        self._writes += 1
        return self._writes

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Raise Refused if a client may not fetch offsets. Unknown groups accept every client."""
        group = self._groups.get(group_id)
        if group is not None:
            group.check_fetch(member_id, epoch)
