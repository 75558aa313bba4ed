"""GroupCluster: members of one group on a simulated cluster, and a journal of who owns which partition."""

from collections.abc import Mapping, Sequence

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.loop.close import CloseRequest
from kctl.sandbox import ClusterSettings, ListenerSecurity, Sandbox
from kctl.sandbox.groups.classic import ClassicGroup
from tests.sim.kit.cluster import SimCluster
from tests.sim.virtual import Hub

GROUP = "g"


class Journal:
    """Who owns what at any time: from the call of `assigned` to the return of `revoked` or `lost`."""

    def __init__(self, hub: Hub, sandbox: Sandbox) -> None:
        self.hub = hub
        self.owner: dict[TopicPartition, str] = {}
        self.ended: set[str] = set()
        """Members whose process is gone."""
        self.consumers: dict[str, Consumer] = {}
        self._sandbox = sandbox
        self.lines: list[tuple[int, str, str, tuple[int, ...]]] = []

    def note(self, name: str, what: str, partitions: Sequence[TopicPartition]) -> None:
        self.lines.append((self.hub.now_ms, name, what, tuple(tp.partition for tp in partitions)))
        for tp in partitions:
            present = self.owner.get(tp)
            if what == "assigned":
                assert present is None or not self.is_known(present), (
                    f"{tp} is {present}'s and given to {name}: {self.lines[-12:]}"
                )
                self.owner[tp] = name
            elif present == name:
                del self.owner[tp]

    def is_known(self, name: str) -> bool:
        """Return whether the group still includes a member, which may not know of its removal."""
        if name in self.ended:
            return False
        side = self.consumers[name]._side  # not the public call: another actor may be inside of one
        assert side.group is not None
        side.mailbox.drain()
        member_id = side.group.metadata.member_id
        group = self._sandbox.cluster.groups.get(GROUP)
        return isinstance(group, ClassicGroup) and member_id in group.members

    def of(self, name: str, *kinds: str) -> list[tuple[int, str, tuple[int, ...]]]:
        """Return the events of one member: (time, event, partitions)."""
        return [
            (at, what, parts) for at, who, what, parts in self.lines if who == name and (not kinds or what in kinds)
        ]


class Noting(RebalanceListener):
    """A listener that writes the journal."""

    def __init__(self, journal: Journal, name: str) -> None:
        self.journal = journal
        self.name = name

    def on_partitions_revoked(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.journal.note(self.name, "revoked", topic_partitions)

    def on_partitions_assigned(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.journal.note(self.name, "assigned", topic_partitions)

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.journal.note(self.name, "lost", topic_partitions)


class GroupCluster(SimCluster):
    """A cluster with topic t of six partitions; `member` makes members of group g that are subscribed to it."""

    def __init__(
        self,
        hub: Hub,
        *,
        nodes: int = 3,
        topics: Mapping[str, int] | None = None,
        settings: ClusterSettings | None = None,
        security: ListenerSecurity | None = None,
    ) -> None:
        topics = {"t": 6} if topics is None else topics
        super().__init__(hub, nodes=nodes, topics=topics, settings=settings, security=security)
        self.journal = Journal(hub, self.sandbox)
        self.seen: dict[tuple[int, int], int] = {}
        """Number of deliveries of each record, by partition and offset."""

    def member(self, name: str, **properties: object) -> Consumer:
        """A member that is subscribed; its intervals are short, so that tests are."""
        given = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 1000, "max_poll_interval_ms": 20_000}
        consumer = self.consumer(group_id=GROUP, **{**given, **properties})
        self.journal.consumers[name] = consumer
        consumer.subscribe(["t"], Noting(self.journal, name))
        return consumer

    def read(self, consumer: Consumer, seconds: float, *, step: float = 0.3) -> list[ConsumerRecord]:
        """Poll for some seconds and count the records; every poll must return by its deadline."""
        records: list[ConsumerRecord] = []
        end_ms = self.hub.now_ms + round(seconds * 1000)
        while self.hub.now_ms < end_ms:
            before_ms = self.hub.now_ms
            got = consumer.poll(timeout=step)
            assert self.hub.now_ms - before_ms <= round(step * 1000)
            for record in got:
                key = (record.partition, record.offset)
                self.seen[key] = self.seen.get(key, 0) + 1
            records += got
        return records

    def crash(self, name: str, consumer: Consumer) -> None:
        """End the member's network as the end of its process does: sockets closed, nobody told."""
        self.journal.ended.add(name)
        consumer._side.mailbox.post_close(CloseRequest(0))
