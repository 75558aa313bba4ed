"""Commands on three real brokers of which one is stopped (SIGSTOP): in time, and healthy partitions are served."""

from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.producer import Producer
from tests.cli.processes import Ended, end, kctl, running
from tests.support.kafka.cluster import KafkaCluster, KafkaNode

IN_TIME = (
    ExitCode.REQUEST_TIMEOUT,
    ExitCode.API_TIMEOUT,
    ExitCode.CONNECT_TIMEOUT,
    ExitCode.ADVERTISED_ADDRESS,
    ExitCode.UNAVAILABLE,
)
"""By what was seen last: the broker that does not answer, or, once the controller has fenced it, no leader."""


@pytest.fixture
def topic(kafka_three: KafkaCluster) -> str:
    """A topic whose partitions have one replica each, so that none moves away, and one record each."""
    name = kafka_three.create_topic(partitions=3, replication=1)
    with Producer({"bootstrap.servers": kafka_three.bootstrap()}) as producer:
        for partition in range(3):
            producer.send(name, b"p%d" % partition, partition=partition)
    return name


@pytest.fixture
def thawing(kafka_three: KafkaCluster) -> Iterator[None]:
    """Leave all nodes running."""
    yield
    for node in kafka_three.nodes:
        node.thaw()


def led_by(kafka: KafkaCluster, topic: str, node: KafkaNode) -> list[int]:
    return [partition for partition in range(3) if kafka.leader(topic, partition) is node]


@pytest.mark.usefixtures("thawing")
def test_leader_frozen_while_reading_ends_consume_by_the_api_timeout(kafka_three: KafkaCluster, topic: str) -> None:
    frozen = kafka_three.leader(topic, 0)
    options = ("-b", kafka_three.bootstrap(), "-o", "start", "-n", "99", "--api-timeout", "3s", "--close-timeout", "1s")
    with running("consume", topic, *options) as process:
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(3)) == [b"p0\n", b"p1\n", b"p2\n"]
        frozen.freeze()
        ended = end(process)  # well before the request timeout of 30 s
    assert ended.code in IN_TIME, ended
    assert f"no response from broker {frozen.number} for " in ended.stderr
    assert "at the end of the partition" not in ended.stderr


@pytest.mark.usefixtures("thawing")
@pytest.mark.parametrize("way", [("-e",), ("-n", "99"), ("--tail", "9")], ids=" ".join)
def test_leader_frozen_from_the_start_hides_no_healthy_partition(
    kafka_three: KafkaCluster, topic: str, way: tuple[str, ...]
) -> None:
    frozen = kafka_three.leader(topic, 1)
    missing = led_by(kafka_three, topic, frozen)
    start = () if way[0] == "--tail" else ("-o", "start")
    frozen.freeze()
    limits = ("--api-timeout", "7s", "--connect-timeout", "1s", "--close-timeout", "1s")
    ended = kctl("consume", topic, "-b", kafka_three.bootstrap(), *start, *way, *limits)
    healthy = [b"p%d" % partition for partition in range(3) if partition not in missing]
    assert sorted(ended.stdout.split()) == healthy
    assert ended.code in IN_TIME, ended
    assert [f"{topic}-{partition}" in ended.stderr for partition in missing] == [True] * len(missing), ended.stderr


@pytest.mark.usefixtures("thawing")
def test_frozen_leader_ends_produce_within_the_close_timeout(kafka_three: KafkaCluster, topic: str) -> None:
    frozen = kafka_three.leader(topic, 2)
    partition = led_by(kafka_three, topic, frozen)[0]
    options = ("-b", kafka_three.bootstrap(), "-p", str(partition), "--close-timeout", "2s")
    with running("produce", topic, *options) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        frozen.freeze()
        process.stdin.write(b"second\n")
        process.stdin.close()
        process.stdin = None
        ended: Ended = end(process)  # well before the delivery timeout of 120 s
    assert ended.code == ExitCode.UNDELIVERED, ended
    assert "not confirmed" in ended.stderr or "NOT delivered" in ended.stderr
