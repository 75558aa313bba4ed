"""Batches written by kctl are read by the Java client, kafka-python and confluent-kafka, and the other way round.

Every codec; nulls, empty and duplicate headers, values of a megabyte, many batches of several partitions; transactions
of others, aborted ones hidden.
"""

from random import Random

import pytest

from tests.conformance.foreign import BINARY_CLIENTS, CONFLUENT, JAVA, ForeignClient
from tests.conformance.foreign.kctl_client import KCTL
from tests.conformance.foreign.record import ForeignRecord, contents
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_for_markers

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
BATCH_BYTES = 4096
"""Of the writer: what follows takes a good many batches of each partition."""
PARTITIONS = 3
BATCH = {"batch.size": str(BATCH_BYTES)}


def _of_all_sizes(rng: Random) -> tuple[ForeignRecord, ...]:
    """Records of several partitions: keys, values and headers of all lengths, null, empty, or hard to compress."""

    def some(most: int) -> bytes | None:
        size = rng.choice([0, 1, rng.randrange(most), most])
        return rng.choice([None, b"abc" * (size // 3), rng.randbytes(size)])

    found = []
    for number in range(400):
        headers = tuple((f"h{at}", some(40) or b"") for at in range(rng.randrange(4)))
        at_ms = 1_600_000_000_000 + rng.choice([number, -number, rng.randrange(10**9)])
        found.append(ForeignRecord(some(900) or b"", some(60), headers, rng.randrange(PARTITIONS), at_ms))
    return tuple(found)


MANY = _of_all_sizes(Random(6))
ODD = (
    ForeignRecord(None, None, timestamp_ms=1_600_000_000_006),
    ForeignRecord(b"n", b"k", (("null", None), ("empty", b"")), timestamp_ms=1_600_000_000_003),
)
"""What kafka-python refuses to write."""


def installed(client: ForeignClient) -> ForeignClient:
    have(client.require)
    return client


def shapes_for(writer: ForeignClient) -> list[ForeignRecord]:
    """Return what it can write, in log order."""
    found = [*SHAPES, *MANY, *ODD] if writer.sends_null_headers else [*SHAPES, *MANY]
    return sorted(found, key=lambda record: record.partition)


def test_many_records_take_many_batches() -> None:
    for partition in range(PARTITIONS):
        sizes = [len(record.value or b"") for record in MANY if record.partition == partition]
        assert sum(sizes) > 5 * BATCH_BYTES


NIGHTLY_CODECS = [pytest.param(codec, marks=pytest.mark.nightly) for codec in ("none", "gzip", "lz4", "zstd")]


@pytest.fixture(scope="module", params=("snappy", *NIGHTLY_CODECS))
def codec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_batches_of_kctl_are_read_by_every_client(kafka_newest: KafkaCluster, codec: str) -> None:
    topic = kafka_newest.create_topic(partitions=PARTITIONS, configs={"max.message.bytes": "2097152"})
    KCTL.produce(kafka_newest.bootstrap(), topic, shapes_for(KCTL), codec, BATCH)
    for reader in (*BINARY_CLIENTS, KCTL):
        found = installed(reader).consume(kafka_newest.bootstrap(), topic, len(shapes_for(KCTL)))
        assert contents(found) == contents(shapes_for(KCTL)), reader.name


def test_batches_of_every_client_are_read_by_kctl(kafka_newest: KafkaCluster, codec: str) -> None:
    for writer in BINARY_CLIENTS:
        topic = kafka_newest.create_topic(partitions=PARTITIONS, configs={"max.message.bytes": "2097152"})
        records = shapes_for(installed(writer))
        writer.produce(kafka_newest.bootstrap(), topic, records, codec, BATCH)
        assert contents(KCTL.consume(kafka_newest.bootstrap(), topic, len(records))) == contents(records), writer.name


@pytest.mark.nightly
@pytest.mark.parametrize("writer", [JAVA, CONFLUENT], ids=lambda writer: writer.name)
def test_transactions_of_others_are_seen_as_their_isolation_says(
    kafka_newest: KafkaCluster, writer: ForeignClient
) -> None:
    bootstrap, topic = kafka_newest.bootstrap(), kafka_newest.create_topic()
    aborted, committed = list(SHAPES[:2]), [SHAPES[3]]
    transaction = {"transactional.id": topic}
    installed(writer).produce(bootstrap, topic, aborted, properties={**transaction, "exchange.abort": "true"})
    writer.produce(bootstrap, topic, committed, properties=transaction)
    wait_for_markers(bootstrap, topic)
    assert contents(KCTL.consume(bootstrap, topic, 3)) == contents([*aborted, *committed])
    assert contents(KCTL.consume(bootstrap, topic, 1, "read_committed")) == contents(committed)
