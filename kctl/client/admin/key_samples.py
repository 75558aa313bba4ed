"""Samples of keys: how many of the records from an offset on have a key that comes again in the sample.

In what a log cleaner has compacted no key comes twice. Shown by tests/sim/why/test_compaction_stories.py.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.call import Call, Results
from kctl.client.admin.record_times import LAST_VERSION_WITH_NAMES, fetch_request, fetched_partitions
from kctl.client.cluster import TopicPartition
from kctl.client.errors import CorruptBatchError, KafkaError
from kctl.client.protocol.api.fetch import FetchResponse

SAMPLE_BYTES: Final = 256 << 10
"""Of each partition."""
MOST_RECORDS: Final = 20_000


class KeyRange(NamedTuple):
    """The records from `offset` on, before `stop_offset` and in the first `most_bytes` of the log from there."""

    offset: int
    stop_offset: int
    most_bytes: int = SAMPLE_BYTES


class KeySample(NamedTuple):
    """How many records there are, and how many of them have a key that occurs again among them."""

    records: int
    repeated: int


def sample_keys(call: Call, ranges: Mapping[TopicPartition, KeyRange]) -> Results[TopicPartition, KeySample]:
    """Return a sample of each partition, which begins at its offset."""
    offsets = {tp: each.offset for tp, each in ranges.items()}
    read = partial(_read, call, ranges)
    build = partial(fetch_request, offsets, SAMPLE_BYTES)
    return ask_leaders(call, offsets, build, read, max_version=LAST_VERSION_WITH_NAMES)


def _read(
    call: Call, ranges: Mapping[TopicPartition, KeyRange], response: FetchResponse, node_id: int
) -> Iterator[tuple[TopicPartition, KeySample | KafkaError]]:
    for key, part in fetched_partitions(call, ranges, response, node_id):
        yield key, part if isinstance(part, KafkaError) else _sample(key, ranges[key], bytes(part.records or b""))


def _sample(key: TopicPartition, wanted: KeyRange, data: bytes) -> KeySample | KafkaError:
    from kctl.client.records import BatchReader  # 10 ms of import, wanted only where records are read

    reader = BatchReader(
        data[: wanted.most_bytes],
        topic=key.topic,
        partition=key.partition,
        fetch_offset=wanted.offset,
        aborted=None,
        stop_offset=wanted.stop_offset,
    )
    try:
        records = reader.records(MOST_RECORDS)
    except CorruptBatchError as error:
        return error
    distinct = len({record.key for record in records})
    return KeySample(len(records), len(records) - distinct)
