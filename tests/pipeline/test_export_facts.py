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
from kctl.pipeline.jobs.mirror_groups import ALREADY_THERE
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.pipeline.exports import on_topic, produce
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RECORDS = 600
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
    with pytest.raises(ConfigError, match=f"group missing is not in {exported}, which has {GROUP}"):
        plan_import(request._replace(groups=GroupSelection(("missing",))))
    with pytest.raises(ConfigError, match="partitions and their order are kept"):
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
