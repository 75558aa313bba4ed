"""Batches written by kctl are read by the Java client, kafka-python and confluent-kafka, and the other way round.

Every codec; nulls, empty and duplicate headers, values of a megabyte; transactions of others, aborted ones hidden.
"""

import pytest

from tests.brokers.cluster import KafkaCluster
from tests.brokers.requirements import have
from tests.conformance.foreign import BINARY_CLIENTS, CONFLUENT, JAVA, ForeignClient
from tests.conformance.foreign.kctl_client import KCTL
from tests.conformance.foreign.record import ForeignRecord, contents

MEGABYTE = bytes(range(256)) * 4096
SHAPES = (
    ForeignRecord(b"plain", None, timestamp_ms=1_600_000_000_000),
    ForeignRecord(None, b"tombstone", timestamp_ms=1_600_000_000_001),
    ForeignRecord(b"", b"", timestamp_ms=1_600_000_000_002),
    ForeignRecord(
        b"h", b"k", (("a", b"1"), ("a", b"2"), ("", b""), ("ü", b"\xff\x00")), timestamp_ms=1_500_000_000_000
    ),
    ForeignRecord(MEGABYTE, b"big", timestamp_ms=1_600_000_000_004),
    ForeignRecord(b"after", b"big", timestamp_ms=1_600_000_000_005),
)
NULL_HEADER = ForeignRecord(b"n", b"k", (("null", None), ("empty", b"")), timestamp_ms=1_600_000_000_003)


def installed(client: ForeignClient) -> ForeignClient:
    have(client.require)
    return client


def shapes_for(writer: ForeignClient) -> list[ForeignRecord]:
    return [*SHAPES, NULL_HEADER] if writer.sends_null_headers else list(SHAPES)


@pytest.fixture(scope="module", params=("none", "gzip", "snappy", "lz4", "zstd"))
def codec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_kctl_writes_everyone_reads(kafka_newest: KafkaCluster, codec: str) -> None:
    topic = kafka_newest.create_topic(configs={"max.message.bytes": "2097152"})
    KCTL.produce(kafka_newest.bootstrap(), topic, shapes_for(KCTL), codec)
    for reader in (*BINARY_CLIENTS, KCTL):
        found = installed(reader).consume(kafka_newest.bootstrap(), topic, len(shapes_for(KCTL)))
        assert contents(found) == contents(shapes_for(KCTL)), reader.name


def test_what_everyone_writes_kctl_reads(kafka_newest: KafkaCluster, codec: str) -> None:
    for writer in BINARY_CLIENTS:
        topic = kafka_newest.create_topic(configs={"max.message.bytes": "2097152"})
        records = shapes_for(installed(writer))
        writer.produce(kafka_newest.bootstrap(), topic, records, codec)
        assert contents(KCTL.consume(kafka_newest.bootstrap(), topic, len(records))) == contents(records), writer.name


@pytest.mark.parametrize("writer", [JAVA, CONFLUENT], ids=lambda writer: writer.name)
def test_transactions_of_others_are_seen_as_their_isolation_says(
    kafka_newest: KafkaCluster, writer: ForeignClient
) -> None:
    bootstrap, topic = kafka_newest.bootstrap(), kafka_newest.create_topic()
    aborted, committed = list(SHAPES[:2]), [SHAPES[3]]
    transaction = {"transactional.id": topic}
    installed(writer).produce(bootstrap, topic, aborted, properties={**transaction, "exchange.abort": "true"})
    writer.produce(bootstrap, topic, committed, properties=transaction)
    assert contents(KCTL.consume(bootstrap, topic, 3)) == contents([*aborted, *committed])
    assert contents(KCTL.consume(bootstrap, topic, 1, "read_committed")) == contents(committed)
