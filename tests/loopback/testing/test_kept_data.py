"""KafkaSandbox with a data directory: content that it keeps until its next start, and files that it rejects."""

from pathlib import Path

import pytest

from kctl.client import Consumer, Producer, TopicPartition
from kctl.sandbox.data_file import FILE, DataRefused
from kctl.testing import KafkaSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(60)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def values(kafka: KafkaSandbox) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


def test_data_directory_keeps_topics_records_and_commits(tmp_path: Path) -> None:
    with KafkaSandbox(data=tmp_path / "data") as kafka:
        kafka.create_topic("t", 2, replication_factor=2, config={"cleanup.policy": "compact"})
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        with Producer(servers) as producer:
            for number in range(4):
                producer.send("t", b"%d" % number, b"k%d" % number, partition=number % 2)
        with Consumer({**servers, "group.id": "g"}) as consumer:
            consumer.commit_sync({T0: 1, T1: 2}, PATIENCE_S)
        before = kafka.sandbox.cluster.topics["t"]
    with KafkaSandbox(data=tmp_path / "data", topics={"t": 1, "u": 1}) as kafka:
        assert kafka.topics() == {"t": 2, "u": 1}
        assert values(kafka) == [b"0", b"2", b"1", b"3"]
        assert kafka.commits("g") == {T0: 1, T1: 2}
        after = kafka.sandbox.cluster.topics["t"]
        assert (after.topic_id, after.properties) == (before.topic_id, before.properties)
        assert after.partitions[0].replicas == before.partitions[0].replicas
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        with Producer(servers) as producer:
            assert producer.send("t", b"4", b"k", partition=0).result(PATIENCE_S).offset == 2
        with Consumer({**servers, "group.id": "g"}) as consumer:
            consumer.assign([T0])
            assert [record.value for record in consumer.poll(PATIENCE_S)] == [b"2", b"4"]


def test_transaction_that_is_open_at_the_close_is_aborted_at_the_next_start(tmp_path: Path) -> None:
    with KafkaSandbox(data=tmp_path, topics={"t": 1}) as kafka:
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        with Producer({**servers, "transactional.id": "x"}) as producer:
            producer.init_transactions(PATIENCE_S)
            for end, value in ((producer.abort_transaction, b"a"), (producer.commit_transaction, b"c")):
                producer.begin_transaction()
                producer.send("t", value, partition=0)
                end(PATIENCE_S)
            producer.begin_transaction()
            producer.send("t", b"open", partition=0)
            producer.flush(PATIENCE_S)
            kafka.close()
            producer.close(0)
    with KafkaSandbox(data=tmp_path) as kafka:
        kafka.produce("t", "later")
        assert values(kafka) == [b"c", b"later"]


@pytest.mark.parametrize("damage", ["empty", "other", "cut", "longer", "no JSON", "no topics"])
def test_damaged_file_is_refused_with_its_path(tmp_path: Path, damage: str) -> None:
    with KafkaSandbox(data=tmp_path, topics={"t": 1}) as kafka:
        kafka.produce("t", "x")
    path = tmp_path / FILE
    whole = path.read_bytes()
    changed = {
        "empty": b"",
        "other": b"x" * 200,
        "cut": whole[:-1],
        "longer": whole + b"x",
        "no JSON": whole.replace(b'{"next', b'["next'),
        "no topics": whole.replace(b'"topics"', b'"topicz"'),
    }
    path.write_bytes(changed[damage])
    with pytest.raises(DataRefused, match=f"cannot load {path}: invalid sandbox data"):
        KafkaSandbox(data=tmp_path)


def test_data_of_more_brokers_and_unusable_directories_are_refused(tmp_path: Path) -> None:
    with KafkaSandbox(brokers=3, data=tmp_path) as kafka:
        kafka.create_topic("t", replication_factor=3)
    with pytest.raises(DataRefused, match="invalid replicas"):
        KafkaSandbox(brokers=1, data=tmp_path)
    occupied = tmp_path / "file"
    occupied.touch()
    with pytest.raises(DataRefused, match=f"cannot write {occupied / FILE}"):
        KafkaSandbox(data=occupied)
