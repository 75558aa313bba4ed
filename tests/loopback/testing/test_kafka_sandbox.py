"""KafkaSandbox as the tests of a service use it: what it returns, and what its faults do to clients."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kctl.client import Consumer, ConsumerRecord, Producer, TopicPartition, errors
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.settings import InvalidSetting
from kctl.testing import Fault, KafkaSandbox, every, once, times
from tests.support.bounds import bound

PATIENCE_S = bound(60)


@pytest.fixture
def kafka() -> Iterator[KafkaSandbox]:
    with KafkaSandbox(topics={"orders": 3}) as kafka:
        yield kafka


def producer_of(kafka: KafkaSandbox, **config: object) -> Producer:
    given = {name.replace("_", "."): value for name, value in config.items()}
    return Producer({"bootstrap.servers": kafka.bootstrap_servers, **given})


def member_of(kafka: KafkaSandbox, **config: object) -> Consumer:
    given = {name.replace("_", "."): value for name, value in config.items()}
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **given,
        }
    )
    consumer.subscribe(["orders"])
    return consumer


def test_records_that_clients_send_are_listed_and_records_of_tests_are_consumed(kafka: KafkaSandbox) -> None:
    with producer_of(kafka) as producer:
        where = producer.send("orders", b"2 apples", key=b"ann", headers=[("trace", b"a1")]).result(PATIENCE_S)
    stored = kafka.produce("orders", "3 pears", key="ann", headers={"trace": "a2"}, timestamp_ms=5)
    assert (stored.partition, stored.offset, stored.timestamp_ms) == (where.partition, 1, 5)
    found = kafka.records("orders")
    assert [(one.key, one.value, one.headers) for one in found] == [
        (b"ann", b"2 apples", (("trace", b"a1"),)),
        (b"ann", b"3 pears", (("trace", b"a2"),)),
    ]
    assert kafka.records("orders", (where.partition + 1) % 3) == []
    with member_of(kafka) as consumer:
        read: list[ConsumerRecord] = []
        while len(read) < 2:
            read += consumer.poll(PATIENCE_S)
        assert read == found


def test_committed_records_leave_out_open_and_aborted_transactions(kafka: KafkaSandbox) -> None:
    with producer_of(kafka, transactional_id="copier") as producer:
        producer.init_transactions(PATIENCE_S)
        for value, ends in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
            producer.begin_transaction()
            producer.send("orders", value, partition=0).result(PATIENCE_S)
            ends(PATIENCE_S)
        producer.begin_transaction()
        producer.send("orders", b"open", partition=0).result(PATIENCE_S)
        assert [one.value for one in kafka.records("orders")] == [b"committed"]
        everything = kafka.records("orders", 0, isolation_level="read_uncommitted")
        assert [one.value for one in everything] == [b"aborted", b"committed", b"open"]
        producer.abort_transaction(PATIENCE_S)


def test_commits_and_members_of_a_group(kafka: KafkaSandbox) -> None:
    assert (kafka.commits("billing"), kafka.members("billing")) == ({}, [])
    kafka.produce("orders", "a", partition=1)
    with member_of(kafka) as consumer:
        assert len(consumer.poll(PATIENCE_S)) == 1
        assert len(kafka.members("billing")) == 1
        consumer.commit_sync(timeout=PATIENCE_S)
    assert kafka.commits("billing")[TopicPartition("orders", 1)] == 1
    assert kafka.members("billing") == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_expired_session_loses_the_partitions_and_the_member_joins_again(kafka: KafkaSandbox, protocol: str) -> None:
    kafka.produce("orders", "a", partition=1)
    with member_of(kafka, group_protocol=protocol) as consumer:
        assert len(consumer.poll(PATIENCE_S)) == 1
        before = kafka.members("billing")
        kafka.expire_session("billing", before[0])
        assert kafka.members("billing") == []
        with pytest.raises(errors.CommitFailedError):
            consumer.commit_sync(timeout=PATIENCE_S)
        assert [one.value for one in consumer.poll(PATIENCE_S)] == [b"a"]
        assert len(kafka.members("billing")) == 1
        kafka.expire_session("billing")


def test_failures_are_counted_over_all_brokers(kafka: KafkaSandbox) -> None:
    kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", times(2))
    outcomes = []
    with producer_of(kafka) as producer:
        for partition in (0, 1, 2):
            outcomes.append(producer.send("orders", b"x", partition=partition).exception(PATIENCE_S))
    assert [type(one) for one in outcomes] == [errors.TopicAuthorizationFailedError] * 2 + [type(None)]


def test_every_third_request_fails_until_healed(kafka: KafkaSandbox) -> None:
    kafka.fail("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED, every(3))

    def outcomes(count: int) -> list[bool]:
        return [producer.send("orders", b"x", partition=0).exception(PATIENCE_S) is None for _ in range(count)]

    with producer_of(kafka) as producer:
        assert outcomes(6) == [True, True, False, True, True, False]
        kafka.heal()
        assert outcomes(6) == [True] * 6


def test_failure_of_one_broker_leaves_the_others_alone(kafka: KafkaSandbox) -> None:
    kafka.move_leader("orders", 0, 1)
    kafka.move_leader("orders", 1, 2)
    kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", once(), broker=1)
    with producer_of(kafka) as producer:
        assert producer.send("orders", b"x", partition=1).exception(PATIENCE_S) is None
        assert producer.send("orders", b"x", partition=0).exception(PATIENCE_S) is not None


@pytest.mark.parametrize("fault", ["freeze", "unreachable"])
def test_broker_that_does_not_respond_delays_records_until_the_block_ends(kafka: KafkaSandbox, fault: str) -> None:
    kafka.move_leader("orders", 0, 1)
    with producer_of(kafka, linger_ms=0, request_timeout_ms=500, delivery_timeout_ms=PATIENCE_S * 1000) as producer:
        producer.send("orders", b"first", partition=0).result(PATIENCE_S)
        with getattr(kafka, fault)(1):
            future = producer.send("orders", b"second", partition=0)
            with pytest.raises(errors.ResultTimeout):
                future.result(0.05)
        assert future.result(PATIENCE_S).offset >= 1
    assert {one.value for one in kafka.records("orders", 0)} == {b"first", b"second"}


def test_refused_connections_are_accepted_again_after_heal(kafka: KafkaSandbox) -> None:
    host, port = kafka.bootstrap_servers.split(",")[1].split(":")
    kafka.start_fault(Fault.REFUSE, 2)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), PATIENCE_S)
    kafka.heal()
    socket.create_connection((host, int(port)), PATIENCE_S).close()


def test_coordinator_moves_and_the_group_stays(kafka: KafkaSandbox) -> None:
    kafka.produce("orders", "a", partition=0)
    with member_of(kafka) as consumer:
        assert len(consumer.poll(PATIENCE_S)) == 1
        for broker in (1, 2, 3):
            kafka.move_coordinator("billing", broker)
            consumer.commit_sync(timeout=PATIENCE_S)
    assert kafka.commits("billing")[TopicPartition("orders", 0)] == 1


def test_topics_and_configs(kafka: KafkaSandbox) -> None:
    kafka.create_topic("compacted", 2, replication_factor=3, config={"cleanup.policy": "compact"})
    assert kafka.topics() == {"orders": 3, "compacted": 2}
    with KafkaSandbox(1, config={"auto.create.topics.enable": "false"}) as strict, producer_of(strict) as producer:
        with pytest.raises(errors.KafkaError):
            producer.partitions_for("absent", 0.2)
        assert strict.topics() == {}
    with pytest.raises(InvalidSetting, match="unknown broker property absurd"):
        KafkaSandbox(config={"absurd": "1"})


def test_wrong_arguments_name_the_right_ones(kafka: KafkaSandbox) -> None:
    for call, text in (
        (lambda: kafka.records("absent"), "no topic 'absent': create it"),
        (lambda: kafka.records("orders", 3), "no partition 3: topic 'orders' has 3"),
        (lambda: kafka.produce("orders", "x", partition=-1), "no partition -1"),
        (lambda: kafka.move_leader("orders", 0, 4), "no broker 4: the ids are 1 to 3"),
        (lambda: kafka.start_fault(Fault.FREEZE, 0), "no broker 0"),
        (lambda: kafka.fail("Produce", "BROKEN"), "invalid error 'BROKEN'"),
        (lambda: kafka.fail("Products", "NOT_COORDINATOR"), "cannot fail requests of 'Products'"),
        (lambda: kafka.expire_session("billing"), "no member  in group 'billing': the group has no members"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_import_needs_neither_pytest_nor_the_command_line() -> None:
    code = (
        "import sys, kctl.testing; print(*{name.partition('.')[0] for name in sys.modules}, 'kctl.cli' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pytest", "typer", "rich", "asyncio", "ssl", "True"} & set(found)
