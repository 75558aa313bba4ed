"""Records read by Fetch, and samples of keys."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Results
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import CorruptBatchError, KafkaError
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kctl.client.protocol.schema import Request
from kctl.client.requests.items import malformed

if TYPE_CHECKING:
    from kctl.client.records import Record

FIRST_BYTES: Final = 16 << 10
"""First fetch size for each partition. Most batches are smaller; larger batches are fetched again."""
GROWTH: Final = 8
MOST_BYTES: Final = 8 << 20
"""Maximum size of a response. The first partition gets a whole batch, even if it is larger (KIP-74)."""
MOST_FRUITLESS_ROUNDS: Final = 8
"""Number of consecutive empty responses after which a broker that reports records counts as faulty."""
LAST_VERSION_WITH_NAMES: Final = 12
SAMPLE_BYTES: Final = 256 << 10
"""Fetch size for a partition whose keys are sampled."""
MOST_RECORDS: Final = 20_000
"""Maximum number of records in a sample."""
MOST_DECOMPRESSED_BYTES: Final = 64 << 20
"""Maximum decompressed size of a batch, the default of `kctl consume`."""
SCHEMA_HEADER_BYTES: Final = 5
"""Header of values of a schema registry: a byte 0 and the id of the schema."""

V = TypeVar("V")


class RecordTime(NamedTuple):
    """Offset and time of a record. Attributes: timestamp_ms: None if the record has none (before Kafka 0.10)."""

    offset: int
    timestamp_ms: int | None


class _Further(NamedTuple):
    """Result for a partition whose records from `offset` on exist but were not in the response."""

    offset: int


class RecordShape(NamedTuple):
    """Size and schema of a record.

    Attributes:
        size_bytes: size of key and value.
        schema_id: id in the schema registry; None if the value has no schema header.
    """

    offset: int
    size_bytes: int
    is_null: bool
    schema_id: int | None


class KeyRange(NamedTuple):
    """Records from `offset` to before `stop_offset` that are in the first `most_bytes` of the log from `offset` on."""

    offset: int
    stop_offset: int
    most_bytes: int = SAMPLE_BYTES


class KeySample(NamedTuple):
    """Number of records, and number of records among them whose key occurs again."""

    records: int
    repeated: int


def find_records(call: Call, offsets: Mapping[TopicPartition, int]) -> Results[TopicPartition, RecordTime | None]:
    """Return the first record at or after each offset; records of aborted transactions count, markers do not."""
    return _find(call, offsets, _time_of)


def inspect_records(call: Call, offsets: Mapping[TopicPartition, int]) -> Results[TopicPartition, RecordShape | None]:
    return _find(call, offsets, _shape_of)


def _time_of(record: "Record") -> RecordTime:
    return RecordTime(record.offset, record.timestamp_ms if record.timestamp_ms >= 0 else None)


def _shape_of(record: "Record") -> RecordShape:
    value = record.value
    has_schema = value is not None and len(value) > SCHEMA_HEADER_BYTES and value[0] == 0
    schema_id = int.from_bytes(value[1:SCHEMA_HEADER_BYTES], "big") if has_schema and value is not None else None
    return RecordShape(record.offset, len(record.key or b"") + len(value or b""), value is None, schema_id)


def _find(
    call: Call, offsets: Mapping[TopicPartition, int], make: Callable[["Record"], V]
) -> Results[TopicPartition, V | None]:
    at = dict(offsets)
    done: dict[TopicPartition, V | None] = {}
    failed: dict[TopicPartition, KafkaError] = {}
    max_bytes, fruitless = FIRST_BYTES, 0
    while at:
        read = partial(_read, call, at, make)
        found = ask_leaders(call, at, partial(_fetch_request, at, max_bytes), read, max_version=LAST_VERSION_WITH_NAMES)
        failed |= found.failed
        further: dict[TopicPartition, int] = {}
        for key, record in found.done.items():
            if isinstance(record, _Further):
                further[key] = record.offset
            else:
                done[key] = record
        is_fruitless = bool(further) and len(further) == len(at) and all(at[key] == further[key] for key in further)
        fruitless = fruitless + 1 if is_fruitless else 0
        if fruitless == MOST_FRUITLESS_ROUNDS:
            failed |= {
                key: malformed("Fetch", "the leader", f"repeatedly contains no records of {key}") for key in further
            }
            break
        at = further
        max_bytes = min(max_bytes * GROWTH, MOST_BYTES)
    return Results(done, failed)


def _fetch_request(
    offsets: Mapping[TopicPartition, int], max_bytes: int, infos: dict[TopicPartition, PartitionInfo], _timeout_ms: int
) -> Request:
    topics: dict[str, FetchTopic] = {}
    for key, info in infos.items():
        asked = FetchPartition(
            partition=key.partition,
            current_leader_epoch=info.leader_epoch,
            fetch_offset=offsets[key],
            partition_max_bytes=max_bytes,
        )
        topics.setdefault(key.topic, FetchTopic(topic=key.topic)).partitions.append(asked)
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=MOST_BYTES, topics=list(topics.values()))


def _fetched_partitions(
    call: Call, asked: Mapping[TopicPartition, object], response: FetchResponse, node_id: int
) -> Iterator[tuple[TopicPartition, PartitionData | KafkaError]]:
    if response.error_code:
        error = broker_error(response.error_code, f"fetch from {call.name_of(node_id)}")
        yield from ((key, error) for key in asked)
        return
    for topic in response.responses:
        for part in topic.partitions:
            key = TopicPartition(topic.topic, part.partition_index)
            if part.error_code:
                yield key, broker_error(part.error_code, f"fetch {key} from {call.name_of(node_id)}")
            elif key in asked:
                yield key, part


def _read(
    call: Call,
    offsets: Mapping[TopicPartition, int],
    make: Callable[["Record"], V],
    response: FetchResponse,
    node_id: int,
) -> Iterator[tuple[TopicPartition, V | _Further | KafkaError | None]]:
    for key, part in _fetched_partitions(call, offsets, response, node_id):
        if isinstance(part, KafkaError):
            yield key, part
        else:
            yield key, _first(key, offsets[key], bytes(part.records or b""), part.high_watermark, make)


def _first(
    key: TopicPartition, offset: int, data: bytes, end: int, make: Callable[["Record"], V]
) -> V | _Further | KafkaError | None:
    from kctl.client.records import BatchReader  # deferred import: 10 ms

    reader = BatchReader(
        data,
        topic=key.topic,
        partition=key.partition,
        fetch_offset=offset,
        aborted=None,
        max_decompressed_bytes=MOST_DECOMPRESSED_BYTES,
    )
    try:
        records = reader.records(1)
    except CorruptBatchError as error:
        return error
    if not records:
        return None if reader.next_offset >= end else _Further(reader.next_offset)
    [record] = records
    return make(record)


def sample_keys(call: Call, ranges: Mapping[TopicPartition, KeyRange]) -> Results[TopicPartition, KeySample]:
    offsets = {tp: each.offset for tp, each in ranges.items()}
    read = partial(_sampled, call, ranges)
    build = partial(_fetch_request, offsets, SAMPLE_BYTES)
    return ask_leaders(call, offsets, build, read, max_version=LAST_VERSION_WITH_NAMES)


def _sampled(
    call: Call, ranges: Mapping[TopicPartition, KeyRange], response: FetchResponse, node_id: int
) -> Iterator[tuple[TopicPartition, KeySample | KafkaError]]:
    for key, part in _fetched_partitions(call, ranges, response, node_id):
        yield key, part if isinstance(part, KafkaError) else _sample(key, ranges[key], bytes(part.records or b""))


def _sample(key: TopicPartition, wanted: KeyRange, data: bytes) -> KeySample | KafkaError:
    from kctl.client.records import BatchReader  # deferred import: 10 ms

    reader = BatchReader(
        data[: wanted.most_bytes],
        topic=key.topic,
        partition=key.partition,
        fetch_offset=wanted.offset,
        aborted=None,
        stop_offset=wanted.stop_offset,
        max_decompressed_bytes=MOST_DECOMPRESSED_BYTES,
    )
    try:
        records = reader.records(MOST_RECORDS)
    except CorruptBatchError as error:
        return error
    distinct = len({record.key for record in records})
    return KeySample(len(records), len(records) - distinct)
