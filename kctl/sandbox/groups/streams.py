"""Streams group: assigns the tasks of its topology in rotation. Source: KIP-1071.

A subtopology has as many tasks as its largest source topic has partitions. Internal topics, standby tasks, and
interactive queries are not implemented.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequestTopology,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from kctl.sandbox.groups.heartbeat_group import JOIN, LEAVE, HeartbeatGroup, HeartbeatMember
from kctl.sandbox.groups.outbox import Refused
from kctl.sandbox.groups.surroundings import Surroundings

Tasks = dict[str, list[int]]
"""Dict from subtopology to partition numbers."""


class StreamsMember(HeartbeatMember):
    def __init__(self, member_id: str, client_id: str) -> None:
        super().__init__(member_id, client_id)
        self.instance_id: str | None = None
        self.process_id = ""


class StreamsGroup(HeartbeatGroup[StreamsMember]):
    kind = "streams"
    protocol_type = "streams"

    def __init__(self, group_id: str, surroundings: Surroundings) -> None:
        super().__init__(group_id, surroundings)
        self.topology: StreamsGroupHeartbeatRequestTopology | None = None

    def heartbeat(self, request: StreamsGroupHeartbeatRequest, client_id: str) -> StreamsGroupHeartbeatResponse:
        if request.member_epoch == LEAVE:
            self.member_of(request.member_id, LEAVE)
            self.remove(request.member_id)
            return StreamsGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE)
        if request.member_epoch == JOIN and request.member_id not in self.members:
            if request.topology is None:
                raise Refused(ErrorCode.INVALID_REQUEST, "Topology must be non-null when joining.")
            self.topology = request.topology
            self.admit(StreamsMember(request.member_id, client_id))
        member = self.member_of(request.member_id, request.member_epoch)
        member.rack_id = request.rack_id if request.rack_id is not None else member.rack_id
        member.instance_id = request.instance_id if request.instance_id is not None else member.instance_id
        member.process_id = request.process_id or member.process_id
        is_news = member.epoch != self.epoch or request.member_epoch == JOIN
        member.epoch = self.epoch
        self.expect_heartbeat(member.member_id)
        tasks = [TaskIds(subtopology_id=name, partitions=each) for name, each in self.tasks_of(member).items()]
        return StreamsGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self.heartbeat_interval_ms,
            active_tasks=tasks if is_news else None,
            standby_tasks=[] if is_news else None,
            warmup_tasks=[] if is_news else None,
        )

    def tasks_of(self, member: StreamsMember) -> Tasks:
        ids = sorted(self.members)
        at, tasks, number = ids.index(member.member_id), dict[str, list[int]](), 0
        for part in [] if self.topology is None else self.topology.subtopologies:
            sources = [*part.source_topics, *(info.name for info in part.repartition_source_topics)]
            count = max((len(self._topics[name].partitions) for name in sources if name in self._topics), default=0)
            for index in range(count):
                if number % len(ids) == at:
                    tasks.setdefault(part.subtopology_id, []).append(index)
                number += 1
        return tasks

    def subscribed_topics(self) -> set[str]:
        if self.is_empty or self.topology is None:
            return set()
        return {name for part in self.topology.subtopologies for name in part.source_topics}
