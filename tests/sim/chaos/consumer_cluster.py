"""State of a run without its clients: hub, network, sandbox, written records, owners of partitions, and the phase.

Writes facts that only the cluster knows into the history. Actors and faults act on it.
"""

from collections.abc import Sequence
from typing import Any

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.protocol.schema import Response
from kctl.client.records import RecordBatchBuilder
from kctl.sandbox import Sandbox
from kctl.sandbox.call import Call
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.partition import NO_LEADER, Partition
from kctl.sandbox.settings import ClusterSettings
from tests.sim.chaos.chaos_cluster import ChaosCluster
from tests.sim.chaos.coverage import Coverage
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES, PARTITIONS, SESSION_MS, Plan
from tests.sim.virtual import Hub

BOOTSTRAP = ",".join(f"node-{node}:9092" for node in range(1, NODES + 1))

SIGNS_OF_LIFE = ("Heartbeat", "ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup", "OffsetCommit")
JOINS = ("JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat")
REFUSALS = frozenset(
    {
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
"""Codes with which a group rejects a member or requires it to rejoin."""


class ConsumerCluster(ChaosCluster):
    """The cluster of one run with consumers."""

    plan: Plan

    def __init__(self, hub: Hub, plan: Plan) -> None:
        settings = ClusterSettings(
            group_consumer_session_timeout_ms=SESSION_MS,
            group_consumer_heartbeat_interval_ms=1000,
            offsets_topic_num_partitions=0,  # writers and readers go by the topics of the cluster
            auto_create_topics_enable=not plan.may_miss_partitions,  # with one partition, and not with two
        )
        sandbox = Sandbox(nodes=NODES, topics=PARTITIONS, settings=settings)
        super().__init__(hub, plan, sandbox, Coverage())
        self.replies.on_request(self._note_request)
        self.incarnations = dict.fromkeys(PARTITIONS, 0)
        self.incarnation_of: dict[bytes, int] = {}
        """Incarnations by topic ID, for topics with records. Recreated topics have another ID."""
        self.cuts: dict[TopicPartition, int] = {}
        """Number of truncations of each log."""
        self.consumers: dict[str, Consumer] = {}
        """Live consumers by proc."""
        self.groups: dict[str, str] = {}
        """Groups by proc."""
        self.owners: dict[tuple[str, TopicPartition, bytes], str] = {}
        """Owners by group, partition, and, if the group assigns topics by ID, topic ID."""
        self._heard_ms: dict[str, int] = {}
        """Time of the last request of each proc that a coordinator received."""
        self._confirmed_ms: dict[str, int] = {}
        """Time of the last confirmed membership of each proc, including heartbeats with REBALANCE_IN_PROGRESS."""

    # --- the log ----------------------------------------------------------------------------------------------------

    def end(self, tp: TopicPartition) -> int:
        """Return where a partition ends; 0 while it does not exist."""
        partition = self.sandbox.cluster.partition(*tp)
        return 0 if partition is None else partition.log.end_offset

    def start(self, tp: TopicPartition) -> int:
        """Return where a partition starts; 0 while it does not exist."""
        partition = self.sandbox.cluster.partition(*tp)
        return 0 if partition is None else partition.log.start_offset

    def write(self, tp: TopicPartition, count: int) -> None:
        """Append a batch if there is a leader.

        Each value has the topic, incarnation, partition, offset, and number of previous truncations.
        """
        partition = self.sandbox.cluster.partition(*tp)
        if partition is None or partition.leader_id == NO_LEADER:
            return
        topic_id = self.sandbox.cluster.topics[tp.topic].topic_id
        if topic_id not in self.incarnation_of:  # clients can create it
            self.incarnations[tp.topic] += 1
            self.incarnation_of[topic_id] = self.incarnations[tp.topic]
        first = partition.log.end_offset
        builder = RecordBatchBuilder()
        now_ms = self.hub.now_ms + self.hub.wall_offset_ms
        for offset in range(first, first + count):
            value = f"{tp.topic}/{self.incarnations[tp.topic]}/{tp.partition}/{offset}/{self.cuts.get(tp, 0)}"
            assert builder.try_append(None, value.encode(), [], now_ms) is not None
        partition.log.append(builder.build(), partition.leader_epoch, now_ms)
        self.history.event(CLUSTER, "append", [tp, first, count])

    def trim(self, tp: TopicPartition, before_offset: int) -> None:
        """Let retention pass."""
        self.sandbox.delete_records(tp.topic, tp.partition, before_offset)
        self.history.event(CLUSTER, "trim", [tp, self.start(tp)])

    def cut(self, tp: TopicPartition, node_id: int, count: int) -> None:
        """Let a node lead that lacks the last `count` records, or a few more: batches are lost whole."""
        end = self.end(tp)
        self.sandbox.move_leader(*tp, node_id, end_offset=max(self.start(tp), end - count))
        if self.end(tp) < end:
            self.cuts[tp] = self.cuts.get(tp, 0) + 1
            self.history.event(CLUSTER, "cut", [tp, self.end(tp)])

    def elect_where_nobody_leads(self) -> None:
        """End all late elections."""
        for tp in self.partitions():
            partition = self.sandbox.cluster.topics[tp.topic].partitions[tp.partition]
            if partition.leader_id == NO_LEADER:
                self.sandbox.move_leader(*tp, partition.replicas[0])

    def delete_topic(self, topic: str) -> None:
        self.sandbox.cluster.delete_topic(topic)
        self.history.event(CLUSTER, "deleted", topic)

    def create_topic(self, topic: str) -> None:
        if topic not in self.sandbox.cluster.topics:
            self.sandbox.create_topic(topic, PARTITIONS[topic])
            self.history.event(CLUSTER, "created", topic)

    def add_partitions(self, topic: str, count: int, most: int) -> None:
        """Let a topic have more partitions, up to `most` in all."""
        found = self.sandbox.cluster.topics.get(topic)
        if found is None:
            return
        settings = found.partitions[0].log.settings
        for index in range(len(found.partitions), min(most, len(found.partitions) + count)):
            found.partitions[index] = Partition(topic, index, (index % NODES + 1,), PartitionLog(settings))
        self.history.event(CLUSTER, "partitions", [topic, len(found.partitions)])

    # --- who owns what ----------------------------------------------------------------------------------------------

    def note(self, proc: str, what: str, partitions: Sequence[TopicPartition]) -> None:
        """Write down what a listener was told; an owner who is still known to the group is robbed by an assignment."""
        group = self.groups[proc]
        robbed = {}
        for tp in partitions:
            topic_id = self.topic_id_of(proc, tp)
            owner = self.owners.get((group, tp, topic_id))
            if what == "assigned":
                is_robbed = owner is not None and owner != proc and self._is_known(owner)
                if owner is not None and is_robbed:
                    if self._was_given_up(proc):
                        continue
                    robbed[str(tp)] = owner
                self.owners[group, tp, topic_id] = proc
            elif owner == proc:
                del self.owners[group, tp, topic_id]
        self.history.event(proc, what, {"partitions": list(partitions), "robbed": robbed})

    def gone(self, proc: str) -> None:
        """Take note that a consumer is closed, or its process dead."""
        self.consumers.pop(proc, None)
        for key in [key for key, owner in self.owners.items() if owner == proc]:
            del self.owners[key]

    def topic_id_of(self, proc: str, tp: TopicPartition) -> bytes:
        """Return the id of the topic of which a member has that partition; empty where its group shares names out."""
        consumer = self.consumers.get(proc)
        group = None if consumer is None else consumer._side.group
        return b"" if group is None else group.topic_ids.get(tp.topic, b"")

    def has_owner(self, group: str, tp: TopicPartition) -> bool:
        """Return whether a member owns a partition of the current topic with this name."""
        topic = self.sandbox.cluster.topics.get(tp.topic)
        ids = (b"", b"" if topic is None else topic.topic_id)
        return any((group, tp, topic_id) in self.owners for topic_id in ids)

    def _was_given_up(self, proc: str) -> bool:
        """Return whether the group has removed a frozen or disconnected member, which still owns its partitions.

        Without a response, the member cannot know this, and it cannot commit records that it reads.
        """
        heard_ms = self._heard_ms.get(proc, 0)
        return self.hub.now_ms - heard_ms >= SESSION_MS and not self._is_known(proc)

    def is_session_over(self, proc: str) -> bool:
        """Return whether a member knows that its session is over: its membership was not confirmed in time."""
        return self.hub.now_ms - self._confirmed_ms.get(proc, 0) > SESSION_MS

    def _is_known(self, proc: str) -> bool:
        """Return whether the group still includes a member, which may not know of its removal."""
        consumer = self.consumers.get(proc)
        group = self.sandbox.cluster.groups.get(self.groups[proc])
        if consumer is None or group is None:
            return False
        side = consumer._side  # not the public call: its own actor may be inside of one
        assert side.group is not None
        side.mailbox.drain()
        member_id = side.group.metadata.member_id
        if isinstance(group, ConsumerGroup):
            # Independent of the assignment in the group: members that report too little would lose partitions
            # unnoticed. Members
            # that return under their ID have released their previous partitions before.
            member = group.members.get(member_id)
            return member is not None and member.progress.epoch >= 0  # -2: static, away for a while
        assert isinstance(group, ClassicGroup)
        # static members that miss a rebalance stay, without their partitions (KIP-345)
        return member_id in group.members and group.members[member_id].generation == group.roster.generation

    # --- requests to nodes --------------------------------------------------------------------------------------------

    def _note_request(self, call: Call, request: Any, response: Response | None) -> None:
        api = type(request).NAME
        client = call.client_id or ""
        self.coverage.asked(api, call.node.node_id, client.split(".")[0])
        if api in SIGNS_OF_LIFE and (response is None or not getattr(response, "error_code", 0)):
            self._heard_ms[client] = self.hub.now_ms
        confirms = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
        if api in SIGNS_OF_LIFE and (response is None or getattr(response, "error_code", 0) in confirms):
            self._confirmed_ms[client] = self.hub.now_ms
        if api == "OffsetCommit" and response is not None:
            self._note_commit(client, request, response)
        elif api in ("Heartbeat", "ConsumerGroupHeartbeat"):
            epoch = request.member_epoch if api == "ConsumerGroupHeartbeat" else request.generation_id
            self.history.event(CLUSTER, "heartbeat", [client, epoch])
        elif api == "Fetch" and self.replies.is_without_progress(call.node.node_id, response):
            self.history.event(CLUSTER, "no-progress", [client, call.node.node_id])
        elif api in ("JoinGroup", "LeaveGroup"):
            self.history.event(CLUSTER, api, [client])
        code = getattr(response, "error_code", 0)
        if api in JOINS and code in REFUSALS:
            self.history.event(CLUSTER, "join-refused", [client, broker_error(code, api).name])

    def _note_commit(self, client: str, request: Any, response: Any) -> None:
        names = {id_: topic.name for id_, topic in ((t.topic_id, t) for t in self.sandbox.cluster.topics.values())}
        for asked, answered in zip(request.topics, response.topics, strict=True):
            topic = asked.name or names.get(asked.topic_id, "")
            for one, outcome in zip(asked.partitions, answered.partitions, strict=True):
                if outcome.error_code == 0:
                    tp = TopicPartition(topic, one.partition_index)
                    epoch = one.committed_leader_epoch
                    self.history.event(CLUSTER, "commit", [request.group_id, tp, one.committed_offset, client, epoch])
