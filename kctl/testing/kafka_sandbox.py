"""KafkaSandbox: an in-process Kafka cluster with its records, commits, and faults."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.lifetime import when_dropped
from kctl.client.records import Record, RecordBatchBuilder, partition_of_key
from kctl.client.records.reader import BatchReader
from kctl.client.records.transactions import AbortedTransaction
from kctl.sandbox import ClusterSettings, Fault, Sandbox
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC
from kctl.sandbox.settings import with_properties
from kctl.sandbox.triggers import Trigger
from kctl.testing.records import Content, Headers, content, header_list
from kctl.testing.triggers import once

NO_PROPERTIES: Mapping[str, str] = {}
IsolationLevel = Literal["read_committed", "read_uncommitted"]


class KafkaSandbox:
    """A Kafka cluster on loopback. Call `close` to stop it. If it is dropped, it stops with a ResourceWarning.

    Any Kafka client of any language can connect. All methods are thread-safe. Broker IDs are 1, 2, 3, and so on.

    Attributes:
        sandbox: the underlying cluster, with further controls, which can change in any release.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        config: Mapping[str, str] = NO_PROPERTIES,
        host: str = "127.0.0.1",
        port: int = 0,
        data: str | PathLike[str] | None = None,
    ) -> None:
        """Start the cluster.

        Args:
            brokers: number of brokers, 1 to 250.
            topics: dict from name to partition count of the topics to create.
            config: broker properties by Kafka's names, such as auto.create.topics.enable.
            host: address to listen on.
            port: port of broker 1. Broker 2 has the next port. 0 uses free ports.
            data: directory that keeps topics, records, and committed offsets from `close` to the next start.
        Raises:
            InvalidSetting: a property is unknown or has an invalid value.
            OSError: a port is in use.
            DataRefused: the data is damaged, is of more brokers, or cannot be read.
            TypeError: `topics` is not a mapping.
        """
        if topics is not None and not isinstance(topics, Mapping):
            raise TypeError(f"topics must be a mapping of topic names to partition counts, not {type(topics).__name__}")
        self.sandbox = Sandbox(brokers, topics=topics, settings=with_properties(ClusterSettings(), config))
        self._served = self.sandbox.serve(host=host, port=port, data=None if data is None else Path(data))
        self._on_drop = when_dropped(self, self._served.stop, self._served, has_threads=True)

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of all brokers, for bootstrap.servers."""
        return self._served.bootstrap

    def close(self) -> None:
        """Close all connections, and save or delete all data. Idempotent.

        Raises: SandboxFailure: the cluster had an internal error. DataRefused: the data cannot be saved.
        """
        self._on_drop.detach()
        self._served.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- topics and records -------------------------------------------------------------------------------------------

    def create_topic(
        self, name: str, partitions: int = 1, *, replication_factor: int = 1, config: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        """Create a topic.

        Raises: TopicRefused: the topic exists, or its name, counts, or config are invalid.
        """
        self.sandbox.create_topic(name, partitions, replication_factor, dict(config))

    def topics(self) -> dict[str, int]:
        """Return a dict from topic to partition count, without internal topics."""
        return {name: count for name, count in self.sandbox.topics().items() if name != OFFSETS_TOPIC}

    def produce(
        self,
        topic: str,
        value: Content = None,
        *,
        key: Content = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> Record:
        """Append a record to a topic without a client, and return it.

        Args:
            value, key: bytes, a string (UTF-8), or None.
            partition: None chooses the partition by the key, as Kafka's producers do, or partition 0 without a key.
            timestamp_ms: milliseconds since the epoch. None is now.
        Raises:
            ValueError: the topic or the partition does not exist.
            BatchRefused: the broker rejects the record.
        """
        key_bytes, count = content("key", key), self._partitions(topic)
        if partition is None:
            partition = 0 if key_bytes is None else partition_of_key(key_bytes, count)
        builder = RecordBatchBuilder()
        time_ms = self.sandbox.cluster.scheduler.wall_ms() if timestamp_ms is None else timestamp_ms
        builder.try_append(key_bytes, content("value", value), header_list(headers), time_ms)
        self._check_partition(topic, partition)
        offset = self.sandbox.append(topic, partition, builder.build())
        return next(one for one in self._read(topic, partition, "read_uncommitted") if one.offset == offset)

    def records(
        self, topic: str, partition: int | None = None, *, isolation_level: IsolationLevel = "read_committed"
    ) -> list[Record]:
        """Return the records of a topic, by partition and offset.

        Args:
            partition: None returns the records of all partitions.
            isolation_level: read_committed leaves out records of open and aborted transactions.
        Raises: ValueError: the topic, the partition, or the isolation level does not exist.
        """
        if isolation_level not in get_args(IsolationLevel):
            raise ValueError(f"invalid isolation_level {isolation_level!r}: use read_committed or read_uncommitted")
        count = self._partitions(topic)
        if partition is not None:
            self._check_partition(topic, partition)
        wanted = range(count) if partition is None else (partition,)
        return [found for number in wanted for found in self._read(topic, number, isolation_level)]

    def _read(self, topic: str, partition: int, isolation_level: IsolationLevel) -> Iterator[Record]:
        log = self.sandbox.stored(topic, partition)
        is_committed_only = isolation_level == "read_committed"
        aborted = [AbortedTransaction(*one) for one in log.aborted]
        reader = BatchReader(
            log.data,
            topic=topic,
            partition=partition,
            fetch_offset=log.start_offset,
            stop_offset=log.stable_offset if is_committed_only else log.end_offset,
            aborted=aborted if is_committed_only else None,
        )
        while not reader.exhausted:
            yield from reader.records()

    # --- groups -----------------------------------------------------------------------------------------------------

    def commits(self, group: str) -> dict[TopicPartition, int]:
        """Return a dict from partition to the committed offset of a group, which is the next offset to read."""
        return {TopicPartition(*at): found.offset for at, found in self.sandbox.committed(group).items()}

    def members(self, group: str) -> list[str]:
        """Return the member ids of a group, or an empty list if the group does not exist."""
        return self.sandbox.members(group)

    def expire_session(self, group: str, member: str | None = None) -> None:
        """Remove members from a group, as if they had sent no heartbeat for their session timeout.

        Args:
            member: the id of a member. None removes all members.
        Raises: ValueError: the group has no such member, or no members.
        """
        members = self.members(group)
        if not members or (member is not None and member not in members):
            raise ValueError(
                f"no member {member or ''} in group {group!r}: {', '.join(members) or 'the group has no members'}"
            )
        for each in members if member is None else [member]:
            self.sandbox.expire_session(group, each)

    # --- faults -----------------------------------------------------------------------------------------------------

    def fail(self, api: str, error: str | ErrorCode, when: Trigger | None = None, *, broker: int | None = None) -> None:
        """Fail requests of an API with an error. The failed requests have no other effect.

        Args:
            api: Kafka's name, such as Produce, Fetch, or OffsetCommit.
            error: Kafka's name, such as NOT_LEADER_OR_FOLLOWER.
            when: once(), times(n), or every(n). None is once().
            broker: ID of a broker. None counts the requests of all brokers together.
        Raises:
            ValueError: the API, the error, or the broker does not exist.
            TypeError: `when` is not a trigger.
        """
        self._check_broker(broker)
        if not isinstance(when, Trigger | None):
            raise TypeError(f"'when' must be once(), times(n), or every(n), not {type(when).__name__}")
        code = ErrorCode.__members__.get(error) if isinstance(error, str) else error
        if code is None or code == ErrorCode.NONE:
            raise ValueError(f"invalid error {error!r}: use a Kafka error name, such as NOT_LEADER_OR_FOLLOWER")
        self.sandbox.fail_when(api, code, once() if when is None else when, node_id=broker)

    def start_fault(self, fault: Fault, broker: int | None = None, *, ms: int = 0) -> None:
        """Start a fault of a broker, which lasts until `heal`.

        Args:
            broker: ID of a broker. None means all brokers.
            ms: the delay of Fault.DELAY.
        Raises:
            ValueError: the broker does not exist, or `ms` does not fit the fault.
            TypeError: `fault` is not a Fault.
        """
        if not isinstance(fault, Fault):
            raise TypeError(f"fault must be a Fault, such as Fault.FREEZE, not {fault!r}")
        for each in self._brokers(broker):
            self.sandbox.start_fault(each, fault, ms=ms)

    @contextmanager
    def fault(self, fault: Fault, broker: int | None = None, *, ms: int = 0) -> Iterator[None]:
        """Run a block with a fault of a broker. Arguments and errors are as for `start_fault`."""
        self.start_fault(fault, broker, ms=ms)
        try:
            yield
        finally:
            self._stop(fault, broker)

    @contextmanager
    def freeze(self, broker: int | None = None) -> Iterator[None]:
        """Run a block while a broker is frozen. It accepts connections, but responds only after the block."""
        with self.fault(Fault.FREEZE, broker):
            yield

    @contextmanager
    def unreachable(self, broker: int | None = None) -> Iterator[None]:
        """Run a block while a network partition separates a broker from all clients.

        Connection attempts get no response, and requests on open connections are lost.
        """
        with self.fault(Fault.BLACKHOLE, broker), self.fault(Fault.SILENCE, broker):
            yield

    def heal(self) -> None:
        """Stop all faults, and cancel the failures of `fail`."""
        self.sandbox.heal()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Move the leader of a partition to a broker, with a new leader epoch.

        Raises: ValueError: the topic, the partition, or the broker does not exist.
        """
        self._check_broker(broker)
        self._check_partition(topic, partition)
        self.sandbox.move_leader(topic, partition, broker)

    def move_coordinator(self, group: str, broker: int) -> None:
        """Move the coordinator of a group to a broker.

        Raises: ValueError: the broker does not exist.
        """
        self._check_broker(broker)
        self.sandbox.move_coordinator(group, broker)

    # --- checks -----------------------------------------------------------------------------------------------------

    def _stop(self, fault: Fault, broker: int | None) -> None:
        for each in self._brokers(broker):
            self.sandbox.stop_fault(each, fault)

    def _brokers(self, broker: int | None) -> list[int]:
        self._check_broker(broker)
        return list(self.sandbox.cluster.nodes) if broker is None else [broker]

    def _check_broker(self, broker: int | None) -> None:
        if broker is not None and broker not in self.sandbox.cluster.nodes:
            raise ValueError(f"no broker {broker}: use an ID from 1 to {len(self.sandbox.cluster.nodes)}")

    def _partitions(self, topic: str) -> int:
        count = self.sandbox.topics().get(topic)
        if count is None:
            raise ValueError(f"no topic {topic!r}: create it with create_topic() or topics=")
        return count

    def _check_partition(self, topic: str, partition: int) -> None:
        count = self._partitions(topic)
        if not 0 <= partition < count:
            raise ValueError(f"no partition {partition}: topic {topic!r} has {count} partitions")
