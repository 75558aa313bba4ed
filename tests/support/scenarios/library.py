"""Scenarios with the library: Producer, Consumer, Admin, Prober."""

import itertools
import os
from collections.abc import Mapping

import pytest

from kctl.client import Admin, Consumer, Producer, TopicPartition
from kctl.client.admin import EARLIEST, LATEST, MemberToRemove, NewTopic, OffsetAndMetadata
from kctl.client.broker_errors import ErrorCode
from kctl.client.config import AdminConfig
from kctl.client.errors import BrokerError
from kctl.client.events import Event, Phase, PhaseDone, Ready
from kctl.client.metadata_updater import bootstrap_nodes
from kctl.client.network.system import system_runtime
from kctl.client.probe.prober import Prober
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

Properties = Mapping[str, str]
TIMEOUT_S = 30.0
WAIT_MS = bound(30_000)
PARTITIONS = 3
_numbers = itertools.count()


def new_topic(properties: Properties, partitions: int = PARTITIONS) -> str:
    """Create a fresh topic and return its name once every partition has a leader."""
    name = f"scenario-{os.getpid()}-{next(_numbers)}"
    with Admin(properties) as admin:
        admin.create_topics([NewTopic(name, partitions)], timeout=TIMEOUT_S).raise_first()
    with Consumer(properties) as consumer:

        def is_there() -> bool:
            try:
                consumer.end_offsets([TopicPartition(name, p) for p in range(partitions)], timeout=TIMEOUT_S)
            except BrokerError as error:
                if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # made, and not known to every broker yet
                    raise
                return False
            return True

        wait_until(is_there, WAIT_MS, f"{name} on every broker")
    return name


def read_all(properties: Properties, topic: str, partitions: int = PARTITIONS) -> dict[int, list[tuple[object, ...]]]:
    """Return what each partition holds, from its beginning to its end, as (key, value, headers, timestamp)."""
    assigned = [TopicPartition(topic, partition) for partition in range(partitions)]
    found: dict[int, list[tuple[object, ...]]] = {partition: [] for partition in range(partitions)}
    with Consumer({**properties, "auto.offset.reset": "earliest"}) as consumer:
        ends = consumer.end_offsets(assigned, timeout=TIMEOUT_S)
        consumer.assign(assigned)
        while any(consumer.position(tp, timeout=TIMEOUT_S) < ends[tp] for tp in assigned):
            for record in consumer.poll(timeout=1):
                found[record.partition].append((record.key, record.value, record.headers, record.timestamp_ms))
    return found


def records_come_back_as_they_were_sent(properties: Properties) -> None:
    """Keys, values, headers and timestamps survive, nulls and duplicates included, in order per partition."""
    topic = new_topic(properties)
    sent: dict[int, list[tuple[object, ...]]] = {partition: [] for partition in range(PARTITIONS)}
    shapes: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (None, b"plain", ()),
        (b"key", b"value", (("h", b"1"), ("h", b"2"), ("null", None), ("", b""))),
        (b"", b"", ()),
        (b"tombstone", None, (("ünïcode", "ß".encode()),)),
        (b"big", b"x" * 300_000, ()),
    ]
    with Producer(properties) as producer:
        for number in range(500):
            key, value, headers = shapes[number % 5] if number < 50 else (b"%d" % number, b"value %d" % number, ())
            partition = number % PARTITIONS
            timestamp_ms = 1_700_000_000_000 + number
            producer.send(
                topic, value=value, key=key, partition=partition, headers=list(headers), timestamp_ms=timestamp_ms
            )
            sent[partition].append((key, value, headers, timestamp_ms))
        producer.flush(timeout=TIMEOUT_S)
    assert read_all(properties, topic) == sent


def every_codec_is_taken(properties: Properties) -> None:
    """Batches of each codec, many records each, come back whole."""
    topic = new_topic(properties, 1)
    expected = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        with Producer({**properties, "compression.type": codec, "linger.ms": "50"}) as producer:
            for number in range(200):
                value = f"{codec} {number} ".encode() * 20
                producer.send(topic, value=value)
                expected.append(value)
            producer.flush(timeout=TIMEOUT_S)
    assert [record[1] for record in read_all(properties, topic, 1)[0]] == expected


def every_acks_delivers(properties: Properties) -> None:
    """acks 0, 1 and all: futures complete, and what was acknowledged is there."""
    topic = new_topic(properties, 1)
    for acks in ("0", "1", "all"):
        with Producer({**properties, "acks": acks, "enable.idempotence": str(acks == "all").lower()}) as producer:
            futures = [producer.send(topic, value=b"%d" % number) for number in range(100)]
            producer.flush(timeout=TIMEOUT_S)
            metadata = [future.result(TIMEOUT_S) for future in futures]
            if acks != "0":
                assert [m.offset for m in metadata] == list(range(metadata[0].offset, metadata[0].offset + 100))
    # acks=0 says nothing of arrival, but on a connection that lived all requests were read in order.
    assert len(read_all(properties, topic, 1)[0]) == 300


def positions_are_found(properties: Properties) -> None:
    """Beginning, end, by timestamp and by seek."""
    topic = new_topic(properties, 1)
    tp = TopicPartition(topic, 0)
    with Producer(properties) as producer:
        for number in range(10):
            producer.send(topic, value=b"%d" % number, timestamp_ms=1_700_000_000_000 + number * 1000)
        producer.flush(timeout=TIMEOUT_S)
    with Consumer(properties) as consumer:
        assert consumer.beginning_offsets([tp], timeout=TIMEOUT_S) == {tp: 0}
        assert consumer.end_offsets([tp], timeout=TIMEOUT_S) == {tp: 10}
        by_time = consumer.offsets_for_times({tp: 1_700_000_004_500}, timeout=TIMEOUT_S)[tp]
        assert by_time is not None
        assert (by_time.offset, by_time.timestamp_ms) == (5, 1_700_000_005_000)
        assert consumer.offsets_for_times({tp: 1_800_000_000_000}, timeout=TIMEOUT_S)[tp] is None
        consumer.assign([tp])
        consumer.seek(tp, 7)
        values: list[bytes | None] = []
        while len(values) < 3:
            values += [record.value for record in consumer.poll(timeout=1)]
        assert values == [b"7", b"8", b"9"]
        assert consumer.position(tp, timeout=TIMEOUT_S) == 10
    with Admin(properties) as admin:
        assert admin.list_offsets({tp: EARLIEST}, timeout=TIMEOUT_S)[tp].offset == 0
        assert admin.list_offsets({tp: LATEST}, timeout=TIMEOUT_S)[tp].offset == 10


def topics_are_managed(properties: Properties) -> None:
    """Created, listed, described, refused where they exist, deleted, and then unknown."""
    with Admin(properties) as admin:
        name = f"managed-{os.getpid()}-{next(_numbers)}"
        created = admin.create_topics([NewTopic(name, 2)], timeout=TIMEOUT_S)[name]
        assert created is not None
        with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
            admin.create_topics([NewTopic(name, 2)], timeout=TIMEOUT_S)[name]
        # A broker learns of topics from the controller a moment later, so each answer is waited for.
        wait_until(lambda: name in admin.list_topics(timeout=TIMEOUT_S), WAIT_MS, f"{name} in the list")
        described = admin.describe_topics([name], timeout=TIMEOUT_S)
        assert sorted(described[name].partitions) == [0, 1]
        admin.delete_topics([name], timeout=TIMEOUT_S).raise_first()

        def is_unknown() -> bool:
            failed = admin.describe_topics([name], timeout=TIMEOUT_S).failed.get(name)
            return isinstance(failed, BrokerError) and failed.name == "UNKNOWN_TOPIC_OR_PARTITION"

        wait_until(is_unknown, WAIT_MS, f"{name} to be gone")
        cluster = admin.describe_cluster(timeout=TIMEOUT_S)
        assert cluster.cluster_id
        assert cluster.nodes


def every_node_is_probed(properties: Properties) -> None:
    """Each address goes through all its phases to ready, says which cluster it belongs to and who it is."""
    config = AdminConfig.parse(properties)
    events: list[Event] = []
    runtime = system_runtime()
    prober = Prober(config, runtime, bootstrap_nodes(config), events=events.append)
    deadline_at_ms = runtime.clock.start_ms() + int(TIMEOUT_S * 1000)
    while not prober.is_done and runtime.clock.now_ms() < deadline_at_ms:
        prober.poll(deadline_at_ms - runtime.clock.now_ms())
    prober.close()
    wanted = [Phase.DNS, Phase.TCP, Phase.APIVERSIONS, Phase.METADATA]
    wanted += [Phase.TLS] if config.uses_tls else []
    wanted += [Phase.SASL] if config.uses_sasl else []
    assert len([event for event in events if isinstance(event, Ready)]) == len(config.bootstrap_servers)
    for report in prober.reports:
        assert report.is_ready, report.error
        assert {event.phase for event in events if isinstance(event, PhaseDone)} == set(wanted)
        assert set(report.phases_ms) == set(wanted)
        assert report.view is not None
        assert report.view.cluster_id
        assert report.answers_as in {broker.node_id for broker in report.view.brokers}
        assert (report.tls is not None) == config.uses_tls


def offsets_of_groups_are_set(properties: Properties) -> None:
    """Offsets that nobody has read to are set, found, and deleted with their group, which is listed meanwhile."""
    topic = new_topic(properties)
    group = f"group-of-{topic}"
    first, second, _ = _keys(topic)
    with Admin(properties) as admin:
        given: dict[TopicPartition, int | OffsetAndMetadata] = {first: 0, second: OffsetAndMetadata(0, "why")}
        admin.alter_group_offsets(group, given, timeout=TIMEOUT_S).raise_first()
        offsets = admin.list_group_offsets(group, _keys(topic), timeout=TIMEOUT_S).done
        assert [None if found is None else (found.offset, found.metadata) for found in offsets.values()] == [
            (0, ""), (0, "why"), None,
        ]  # fmt: skip
        admin.delete_group_offsets(group, [second], timeout=TIMEOUT_S).raise_first()
        assert list(admin.list_group_offsets(group, timeout=TIMEOUT_S).done) == [first]
        listed = admin.list_groups(timeout=TIMEOUT_S)
        assert listed.failed == {}
        assert listed.groups[group].state == "Empty"
        assert group in admin.list_groups(states=["Empty"], types=["classic"], timeout=TIMEOUT_S).groups
        admin.delete_groups([group], timeout=TIMEOUT_S).raise_first()
        with pytest.raises(BrokerError, match="GROUP_ID_NOT_FOUND"):
            admin.describe_groups([group], timeout=TIMEOUT_S).raise_first()
        with pytest.raises(BrokerError, match="GROUP_ID_NOT_FOUND"):
            admin.delete_groups([group], timeout=TIMEOUT_S).raise_first()


def groups_with_members_are_described(properties: Properties) -> None:
    """A group is described with what its member has, is left as it is while it has one, and the member is removed."""
    topic = new_topic(properties)
    group = f"group-of-{topic}"
    first = TopicPartition(topic, 0)
    with Admin(properties) as admin:
        admin.alter_group_offsets(group, {first: 0}, timeout=TIMEOUT_S).raise_first()
        config = {**properties, "group.id": group, "group.instance.id": "one", "client.id": "worker"}
        with Consumer(config) as member:
            member.subscribe([topic])
            wait_until(lambda: bool(member.poll(0.2)) or bool(member.assignment), WAIT_MS, "a share")
            found = admin.describe_groups([group], timeout=TIMEOUT_S)[group]
            assert (found.type, found.state, found.protocol_type, found.assignor) == (
                "classic", "Stable", "consumer", "range",
            )  # fmt: skip
            (shown,) = found.members
            assert (shown.client_id, shown.group_instance_id, shown.host) == ("worker", "one", "127.0.0.1")
            assert shown.assignment == tuple(_keys(topic))
            assert shown.subscribed_topics == (topic,)
            with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
                admin.alter_group_offsets(group, {first: 0}, timeout=TIMEOUT_S).raise_first()
            with pytest.raises(BrokerError, match="GROUP_SUBSCRIBED_TO_TOPIC"):
                admin.delete_group_offsets(group, [first], timeout=TIMEOUT_S).raise_first()
            with pytest.raises(BrokerError, match="NON_EMPTY_GROUP"):
                admin.delete_groups([group], timeout=TIMEOUT_S).raise_first()
        one = MemberToRemove(group_instance_id="one")
        admin.remove_members(group, [one], timeout=TIMEOUT_S).raise_first()  # a static member stays when it closes
        assert admin.describe_groups([group], timeout=TIMEOUT_S)[group].members == ()
        with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
            admin.remove_members(group, [one], timeout=TIMEOUT_S).raise_first()


def _keys(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for partition in range(PARTITIONS)]


EVERY_SCENARIO = (
    records_come_back_as_they_were_sent,
    every_codec_is_taken,
    every_acks_delivers,
    positions_are_found,
    topics_are_managed,
    every_node_is_probed,
    offsets_of_groups_are_set,
    groups_with_members_are_described,
)
