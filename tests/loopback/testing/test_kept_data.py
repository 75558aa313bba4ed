"""KafkaSandbox with a data directory: content that it keeps until its next start, and files that it rejects."""

import json
import os
import re
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_transaction_that_is_committed_without_markers_is_kept_with_its_offsets(tmp_path: Path) -> None:
    with KafkaSandbox(data=tmp_path, topics={"t": 2}) as kafka:
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        with (
            Producer({**servers, "transactional.id": "x"}) as producer,
            Consumer({**servers, "group.id": "g"}) as group,
        ):
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            producer.send("t", b"paid", partition=0).result(PATIENCE_S)
            producer.send_offsets_to_transaction({T1: 7}, group.group_metadata())
            kafka.sandbox.hold_markers("x")
            producer.commit_transaction(PATIENCE_S)
            assert values(kafka) == []
            producer.close(0)
    with KafkaSandbox(data=tmp_path) as kafka:
        assert values(kafka) == [b"paid"]
        assert kafka.commits("g") == {T1: 7}


def test_topics_with_leading_underscores_are_kept_except_the_internal_one(tmp_path: Path) -> None:
    with KafkaSandbox(1, data=tmp_path, topics={"__hb": 1}) as kafka:
        kafka.produce("__hb", "x")
        with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}) as consumer:
            consumer.commit_sync({TopicPartition("__hb", 0): 1}, PATIENCE_S)
    assert content(tmp_path)[0]["topics"][0]["name"] == "__hb"
    assert len(content(tmp_path)[0]["topics"]) == 1
    with KafkaSandbox(1, data=tmp_path) as kafka:
        assert kafka.topics() == {"__hb": 1}
        assert [record.value for record in kafka.records("__hb")] == [b"x"]
        assert kafka.commits("g") == {TopicPartition("__hb", 0): 1}


def test_directory_of_a_running_sandbox_is_refused_until_its_stop(tmp_path: Path) -> None:
    with KafkaSandbox(1, data=tmp_path):
        said = f"cannot use data directory {tmp_path}: the sandbox of process {os.getpid()} uses it"
        with pytest.raises(DataRefused, match=said):
            KafkaSandbox(1, data=tmp_path)
    with KafkaSandbox(1, data=tmp_path):
        pass


def test_data_is_private_and_replaces_links_without_following_them(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "data"
    victim.write_text("precious")
    folder.mkdir()
    (folder / f"{FILE}.new").symlink_to(victim)
    with KafkaSandbox(1, data=folder, topics={"t": 1}):
        (folder / f"{FILE}.new").unlink()
        (folder / f"{FILE}.new").symlink_to(victim)
    assert victim.read_text() == "precious"
    assert {path.name: stat.S_IMODE(path.lstat().st_mode) for path in folder.iterdir()} == {
        FILE: 0o600,
        "cluster.lock": 0o600,
    }


def test_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "cluster.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(DataRefused, match="cannot write"):
        KafkaSandbox(1, data=tmp_path)
    assert (tmp_path / "victim").read_text() == "precious"


HEAD = struct.Struct(">8sI")


def content(folder: Path) -> tuple[Any, bytes]:
    """Return the JSON part of the data, and the batches."""
    data = (folder / FILE).read_bytes()
    _, size_bytes = HEAD.unpack_from(data)
    return json.loads(data[HEAD.size : HEAD.size + size_bytes]), data[HEAD.size + size_bytes :]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return data of a topic with one record and one commit."""
    folder = tmp_path_factory.mktemp("saved")
    with KafkaSandbox(1, data=folder, topics={"t": 1}) as kafka:
        kafka.produce("t", "x")
        with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}) as consumer:
            consumer.commit_sync({T0: 1}, PATIENCE_S)
    return folder


def set_partition(name: str, value: object) -> Callable[[Any], object]:
    return lambda given: given["topics"][0]["partitions"][0].update({name: value})


def set_commit(at: int, value: object) -> Callable[[Any], object]:
    return lambda given: given["commits"]["g"][0].__setitem__(at, value)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda given: given.update(next_producer_id=1e999),
            "invalid next_producer_id inf: use 0 to 4611686018427387904",
        ),
        (lambda given: given.update(topics=7), "invalid topics 7: use a list"),
        (lambda given: given["topics"].append(given["topics"][0]), "invalid topics[1].name 't': use a name that no"),
        (lambda given: given["topics"][0].update(id="x"), "invalid topics[0].id 'x': use 32 hexadecimal digits"),
        (lambda given: given["topics"][0].update(name="__consumer_offsets"), "invalid topics[0].name"),
        (lambda given: given["topics"][0].update(name="a b"), "topics[0]: 'a b' is not a valid topic name"),
        (lambda given: given["topics"][0].update(partitions=[]), "invalid topics[0].partitions []"),
        (lambda given: given["topics"][0].pop("properties"), "topics[0].properties is missing"),
        (lambda given: given["topics"][0].update(properties={"k": 1}), "invalid topics[0].properties.'k' 1"),
        (set_partition("start", "x"), "invalid topics[0].partitions[0].start 'x': use 0 to 1"),
        (set_partition("start", 2), "invalid topics[0].partitions[0].start 2: use 0 to 1"),
        (set_partition("end", 2**63), "invalid topics[0].partitions[0].end 9223372036854775808"),
        (set_partition("end", 0), "topics[0].partitions[0]: the batch at byte "),
        (set_partition("leader_epoch", True), "invalid topics[0].partitions[0].leader_epoch True"),
        (set_partition("replicas", [1.0]), "invalid topics[0].partitions[0].replicas[0] 1.0"),
        (set_partition("aborted", [[1, 0, 1]]), "invalid topics[0].partitions[0].aborted[0][2] 1: use 0 to 0"),
        (set_partition("sizes", [7]), "invalid topics[0].partitions[0].sizes[0] 7"),
        (set_commit(2, "x"), "invalid commits.'g'[0][2] 'x'"),
        (set_commit(0, "\ud800"), "invalid commits.'g'[0][0] '\\ud800': use a UTF-8 string"),
        (set_commit(4, [1]), "invalid commits.'g'[0][4] [1]: use a UTF-8 string"),
        (lambda given: given["commits"]["g"].append([1]), "invalid commits.'g'[1] [1]: use a list of 5 items"),
        (lambda given: given.update(commits=[]), "invalid commits []: use an object"),
    ],
)
def test_damaged_field_is_refused_with_its_place(
    saved: Path, tmp_path: Path, damage: Callable[[Any], object], said: str
) -> None:
    given, batches = content(saved)
    damage(given)
    text = json.dumps(given).encode()
    (tmp_path / FILE).write_bytes(HEAD.pack(b"kctlsbx1", len(text)) + text + batches)
    with pytest.raises(DataRefused, match=re.escape(f"invalid sandbox data: {said}")):
        KafkaSandbox(1, data=tmp_path)


@pytest.mark.parametrize(
    ("at", "said"),
    [(-1, "has the wrong CRC32C"), (16, "is not a record batch"), (11, "is not a record batch"), (0, "has offset ")],
)
def test_damaged_batch_is_refused_with_its_place(saved: Path, tmp_path: Path, at: int, said: str) -> None:
    size_bytes = len(content(saved)[1])
    data = bytearray((saved / FILE).read_bytes())
    data[len(data) - 1 if at < 0 else len(data) - size_bytes + at] ^= 0x41
    (tmp_path / FILE).write_bytes(data)
    place = f"topics[0].partitions[0]: the batch at byte {len(data) - size_bytes} {said}"
    with pytest.raises(DataRefused, match=re.escape(place)):
        KafkaSandbox(1, data=tmp_path)


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
