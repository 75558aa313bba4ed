"""Transactions on Kafka 4.3 and 3.9: kctl and Java's tool see the same; one that hangs is found and aborted.

It hangs because a client wrote to a partition that its transaction does not have, on a broker that does not verify.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import LATEST, Admin, Verdict
from kctl.client.cluster import TopicPartition
from kctl.client.producer import Producer
from kctl.client.records import RecordBatchBuilder
from tests.cli.processes import Ended, kctl
from tests.support.kafka.broker_defaults import broker_default
from tests.support.kafka.cluster import KafkaCluster

TOOL = "org.apache.kafka.tools.TransactionsCommand"
LAST_PRODUCE_VERSION_BEFORE_KIP_890 = 10


@pytest.fixture(scope="module", params=["kafka_newest", "kafka_3_9"])
def unverified(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A broker that appends batches of transactions without asking the coordinator."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    with broker_default(cluster, "transaction.partition.verification.enable", "false"):
        yield cluster


def run(kafka: KafkaCluster, *words: str) -> Ended:
    return kctl("transactions", *words, "-b", kafka.bootstrap())


def rows(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = run(kafka, *words, "--output", "json")
    assert ended.code == 0, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def java(kafka: KafkaCluster, *words: str) -> list[dict[str, str]]:
    """Return the table that Java's tool prints."""
    text = kafka.run_tool(TOOL, "--bootstrap-server", kafka.bootstrap(), *words)
    heading, *lines = [line.split("\t") for line in text.splitlines() if line.strip()]
    names = [name.strip() for name in heading]
    return [dict(zip(names, (cell.strip() for cell in line), strict=True)) for line in lines]


def producer(kafka: KafkaCluster, transactional_id: str) -> Producer:
    made = Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": transactional_id})
    made.init_transactions(timeout=60)
    return made


def hang(kafka: KafkaCluster, transactional_id: str, topic: str) -> int:
    """Write one batch outside of any transaction of the coordinator; return the producer id."""
    producer(kafka, transactional_id).close(10)
    with Admin({"bootstrap.servers": kafka.bootstrap()}) as admin:
        found = admin.describe_transactions([transactional_id])[transactional_id]
        builder = RecordBatchBuilder("none", batch_size_bytes=1000, transactional=True)
        assert builder.try_append(None, b"hangs", [], 1_700_000_000_000) is not None
        builder.set_producer_state(found.producer_id, found.producer_epoch, 0, transactional=True)
        fields = {
            "transactionalId": transactional_id,
            "acks": -1,
            "timeoutMs": 5000,
            "topicData": [{"name": topic, "partitionData": [{"index": 0, "records": _base64(builder.build())}]}],
        }
        response = admin.request_api("Produce", fields, version=LAST_PRODUCE_VERSION_BEFORE_KIP_890)
        assert not response.errors, response
    return found.producer_id


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode()


@pytest.mark.nightly
def test_list_and_describe_agree_with_java(unverified: KafkaCluster) -> None:
    topic = unverified.create_topic(partitions=2)
    with producer(unverified, f"{topic}-open") as open_one, producer(unverified, f"{topic}-done") as done:
        for each in (open_one, done):
            each.begin_transaction()
            for index in range(2):
                each.send(topic, b"x", partition=index).result(30)
        done.commit_transaction(timeout=30)
        ours = {row["transactional_id"]: row for row in rows(unverified, "list")}
        theirs = {row["TransactionalId"]: row for row in java(unverified, "list")}
        for name in (f"{topic}-open", f"{topic}-done"):
            assert (str(ours[name]["producer_id"]), ours[name]["state"], str(ours[name]["coordinator"])) == (
                theirs[name]["ProducerId"],
                theirs[name]["TransactionState"],
                theirs[name]["Coordinator"],
            )
        ongoing = rows(unverified, "list", "--state", "Ongoing", "--older-than", "1ms")
        assert [row["transactional_id"] for row in ongoing] == [f"{topic}-open"]
        [described] = rows(unverified, "describe", f"{topic}-open")
        [by_java] = java(unverified, "describe", "--transactional-id", f"{topic}-open")
        assert (described["state"], described["topic_partitions"]) == ("Ongoing", {topic: [0, 1]})
        assert by_java["TransactionState"] == "Ongoing"
        assert sorted(by_java["TopicPartitions"].split(",")) == [f"{topic}-0", f"{topic}-1"]  # Java's are a hash set
        assert str(described["timeout_ms"]) == by_java["TransactionTimeoutMs"]
        assert str(described["producer_epoch"]) == by_java["ProducerEpoch"]
        found = rows(unverified, "hanging", "--topic", topic, "--all")
        assert [(row["partition"], row["verdict"]) for row in found] == [(0, "running"), (1, "running")]
        assert rows(unverified, "hanging", "--topic", topic) == []
        open_one.abort_transaction(timeout=30)


@pytest.mark.nightly
def test_hanging_transaction_is_found_and_aborted(unverified: KafkaCluster) -> None:
    topic = unverified.create_topic()
    producer_id = hang(unverified, f"{topic}-id", topic)
    tp = TopicPartition(topic, 0)
    with Admin({"bootstrap.servers": unverified.bootstrap()}) as admin:

        def stable_end() -> int:
            return admin.list_offsets({tp: LATEST}, isolation_level="read_committed")[tp].offset

        assert stable_end() == 0
        by_java = java(unverified, "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
        assert [(row["ProducerId"], row["StartOffset"]) for row in by_java] == [(str(producer_id), "0")]
        [found] = [row for row in rows(unverified, "hanging") if row["topic"] == topic]
        assert (found["topic"], found["start_offset"], found["verdict"], found["producer_id"]) == (
            topic, 0, "hanging", producer_id,
        )  # fmt: skip
        assert found["transactional_id"] == f"{topic}-id"
        [verdict] = admin.open_transactions([tp]).transactions
        assert verdict.verdict is Verdict.HANGING
        dry = run(unverified, "abort", f"{topic}:0")
        assert (dry.code, stable_end()) == (0, 0)
        [done] = rows(unverified, "abort", f"{topic}:0", "--start-offset", "0", "--execute")
        assert (done["result"], stable_end()) == ("aborted", 2)
        assert rows(unverified, "hanging", "--topic", topic) == []
        assert java(unverified, "find-hanging", "--topic", topic, "--max-transaction-timeout", "0") == []
        gone = run(unverified, "abort", f"{topic}:0", "--start-offset", "0", "--execute")
        assert gone.code == ExitCode.UNKNOWN_RESOURCE


def test_record_at_an_offset_is_the_one_that_a_consumer_reads(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic(partitions=2)
    tp = TopicPartition(topic, 0)
    with Producer({"bootstrap.servers": any_kafka.bootstrap(), "compression.type": "gzip", "linger.ms": 50}) as made:
        for number in range(100):
            made.send(topic, bytes(2000), partition=0, timestamp_ms=1_600_000_000_000 + number**2)
    with Admin({"bootstrap.servers": any_kafka.bootstrap()}) as admin:
        for offset in (0, 1, 57, 99):
            found = admin.find_records({tp: offset, TopicPartition(topic, 1): 0})
            assert found[tp] == (offset, 1_600_000_000_000 + offset**2)
            assert found[TopicPartition(topic, 1)] is None
        assert admin.find_records({tp: 100})[tp] is None


def test_release_without_the_apis_is_named(kafka_2_8: KafkaCluster) -> None:
    ended = run(kafka_2_8, "list")
    assert (ended.code, "ListTransactions version 0 (Kafka 3.0)" in ended.stderr) == (ExitCode.WRONG_PROTOCOL, True), (
        ended
    )


def test_why_names_the_hanging_transaction_and_its_abort(unverified: KafkaCluster) -> None:
    topic = unverified.create_topic()
    words = ("why", "topic", topic, "-b", unverified.bootstrap(), "--only", "transaction-hanging", "--output", "jsonl")
    healthy = kctl(*words)
    assert (healthy.code, healthy.stdout) == (0, b""), healthy
    producer_id = hang(unverified, f"{topic}-id", topic)
    ended = kctl(*words)
    assert ended.code == ExitCode.PARTIAL_FAILURE, ended
    [found] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert f"{topic}-0 at offset 0, with 1 records after it" in found["sentence"]
    assert f"Producer {producer_id} " in found["sentence"]
    assert found["cure"] == f"kctl transactions abort {topic}:0 --start-offset 0 --execute"
    assert run(unverified, "abort", f"{topic}:0", "--start-offset", "0", "--execute").code == 0
    again = kctl(*words)
    assert (again.code, again.stdout) == (0, b""), again
