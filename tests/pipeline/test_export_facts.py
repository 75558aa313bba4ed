"""An export that carries configs and groups, imported on real Kafka: topics as they were, consumers where they were."""

from pathlib import Path

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.mirror_groups import ALREADY_THERE
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.pipeline.exports import on_topic, produce
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 600
LARGE_BYTES = 3_000_000
CONFIGS = {"retention.ms": "-1", "max.message.bytes": "500000"}


TOPIC, COPY, GROUP = "facts", "facts-copy", "facts-group"
PLACES = {0: 11, 1: 111}


@pytest.fixture(scope="module")
def exported(kafka_newest: KafkaCluster, session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a topic with markers in between, so that a copy has other offsets; its group moved on meanwhile."""
    folder, properties = tmp_path_factory.mktemp("facts") / "x", kafka_newest.client_properties()
    with Admin(properties) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, configs=CONFIGS)]).raise_first()
        with Producer({**properties, "transactional.id": "facts"}) as producer:
            producer.init_transactions()
            for number in range(20):
                producer.begin_transaction()
                producer.send(TOPIC, b"first %d" % number, partition=number % 2, timestamp_ms=1_700_000_000_000)
                producer.commit_transaction()
        produce(kafka_newest.bootstrap(), TOPIC, RECORDS - 20, partitions=2)
        groups = GroupSelection((GROUP,))
        request = ExportRequest(Selection(topics=(TOPIC,)), folder, properties, groups=groups, range_bytes=10_000)
        admin.alter_group_offsets(GROUP, {TopicPartition(TOPIC, n): at - n for n, at in PLACES.items()}).raise_first()
        assert export(request, session=session).records == RECORDS
        admin.alter_group_offsets(GROUP, {TopicPartition(TOPIC, n): at for n, at in PLACES.items()}).raise_first()
        assert export(request, session=session).records == 0
        assert export(request, session=session).records == 0
    return folder


def test_topic_without_records_and_a_large_record_are_exported_compared_restored_and_mirrored(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, session: Session, tmp_path: Path
) -> None:
    large, empty, group = "facts-large", "facts-empty", "facts-other-group"
    properties, target = kafka_newest.client_properties(), kafka_3_9.client_properties()
    configs = {"max.message.bytes": str(4 * LARGE_BYTES)}
    with Admin(properties) as admin, Producer({**properties, "max.request.size": 2 * LARGE_BYTES}) as producer:
        admin.create_topics([NewTopic(large, 1, configs=configs), NewTopic(empty, 3, configs=CONFIGS)]).raise_first()
        producer.send(large, bytes(LARGE_BYTES))
        producer.flush()
        admin.alter_group_offsets(group, {TopicPartition(empty, 1): 0, TopicPartition(large, 0): 1}).raise_first()
    alone = ExportRequest(Selection(topics=(empty,)), tmp_path / "x", properties)
    assert (export(alone, session=session).records, len(read_manifests(tmp_path / "x"))) == (0, 1)
    assert (export(alone, session=session).records, len(read_manifests(tmp_path / "x"))) == (0, 1)
    both = alone._replace(selection=Selection(topics=(large, empty)), groups=GroupSelection((group,)))
    assert export(both, session=session).records == 1
    for topic in (large, empty):
        assert verify(VerifyRequest(topic, properties, folder=tmp_path / "x"), session=session).is_equal
    assert plan_import(ImportRequest(tmp_path / "x", target, topics=(empty,), create=True)).missing.keys() == {empty}
    restoring = ImportRequest(
        tmp_path / "x", target, keep_partitions=True, keep_timestamps=True, create=True, groups=GroupSelection((group,))
    )
    done = import_files(restoring, session=session)
    assert (done.records, done.created) == (1, {large: TopicFacts(1, configs), empty: TopicFacts(3, CONFIGS)})
    assert [(each.topic, each.target_offset) for each in done.group_offsets] == [(empty, 0), (large, 1)]
    with Admin(target) as admin:
        admin.delete_topics([large, empty]).raise_first()
        admin.delete_groups([group]).raise_first()
        admin.create_topics([NewTopic(f"{large}-copy", 1, configs=configs)]).raise_first()
    mirroring = MirrorRequest((large,), properties, target, f"{large}-copy", groups=GroupSelection((group,)))
    mirrored = mirror(mirroring, session=session)
    assert (mirrored.records, [each.problem for each in mirrored.group_offsets]) == (1, [""])


def import_of(kafka: KafkaCluster, folder: Path) -> ImportRequest:
    return ImportRequest(
        folder,
        kafka.client_properties(),
        topic=COPY,
        keep_partitions=True,
        keep_timestamps=True,
        create=True,
        groups=GroupSelection(pattern="facts-.*"),
    )


def test_manifests_have_groups_that_moved_without_new_records_too(exported: Path) -> None:
    facts = [each.facts for each in read_manifests(exported) if each.facts.groups]
    assert [each.groups[GROUP][TOPIC] for each in facts] == [{0: 11, 1: 110}, PLACES]
    assert facts[0].topics == {TOPIC: TopicFacts(2, CONFIGS)}


def test_import_that_cannot_be_is_refused(kafka_newest: KafkaCluster, exported: Path) -> None:
    request = import_of(kafka_newest, exported)
    with pytest.raises(BrokerError, match="absent"):
        plan_import(request._replace(create=False, topic="absent"))
    with pytest.raises(ConfigError, match=f"group missing is not in {exported}. Exported groups: {GROUP}"):
        plan_import(request._replace(groups=GroupSelection(("missing",))))
    with pytest.raises(ConfigError, match="--groups needs --keep-partitions"):
        plan_import(request._replace(keep_partitions=False))


def test_verify_compares_the_groups_of_an_export_with_those_of_the_topic(
    kafka_newest: KafkaCluster, session: Session, exported: Path
) -> None:
    properties = kafka_newest.client_properties()
    request = VerifyRequest(TOPIC, properties, folder=exported, groups=GroupSelection((GROUP, "facts-later")))

    def committed(*places: int) -> list[tuple[str, int, str, int]]:
        with Admin(properties) as admin:
            admin.alter_group_offsets(GROUP, {TopicPartition(TOPIC, n): at for n, at in enumerate(places)})
            admin.alter_group_offsets("facts-later", {TopicPartition(TOPIC, 0): 1})
        result = verify(request, session=session)
        assert result.is_equal
        return [(each.group, each.partition, each.continues, each.records) for each in result.groups]

    assert committed(*PLACES.values()) == [
        (GROUP, 0, "same", 0),
        (GROUP, 1, "same", 0),
        ("facts-later", 0, "missing", 0),
    ]
    between = sum(row.partition == 0 and PLACES[0] <= row.offset < PLACES[0] + 6 for row in on_topic(properties, TOPIC))
    assert 0 < between < 6, "there are markers in between"
    assert committed(PLACES[0] + 6, PLACES[1] - 2)[:2] == [(GROUP, 0, "repeats", between), (GROUP, 1, "skips", 2)]
    assert committed(*PLACES.values())[:2] == [(GROUP, 0, "same", 0), (GROUP, 1, "same", 0)]


def test_import_restores_configs_and_has_groups_continue_with_the_same_record(
    kafka_newest: KafkaCluster, session: Session, exported: Path
) -> None:
    properties = kafka_newest.client_properties()
    request = import_of(kafka_newest, exported)
    result = import_files(request, session=session)
    assert (result.records, result.created, result.refused_configs) == (RECORDS, {COPY: TopicFacts(2, CONFIGS)}, ())
    assert [each.problem for each in result.group_offsets] == ["", ""]
    with Admin(properties) as admin:
        resource = ConfigResource(ResourceType.TOPIC, COPY)
        configs = admin.describe_configs([resource])[resource]
        committed = admin.list_group_offsets(GROUP).done
    assert {name: configs[name].value for name in CONFIGS} == CONFIGS
    here, there = on_topic(properties, TOPIC), on_topic(properties, COPY)
    for number, offset in PLACES.items():
        found = committed[TopicPartition(COPY, number)]
        assert found is not None
        assert found.offset != offset
        assert [row[3:] for row in there if row.partition == number and row.offset >= found.offset] == [
            row[3:] for row in here if row.partition == number and row.offset >= offset
        ]
    again = import_files(request, session=session)
    assert (again.records, again.created) == (0, {})
    assert {each.problem for each in again.group_offsets} == {ALREADY_THERE}
