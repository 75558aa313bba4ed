"""Average bytes for each offset of a topic, because Kafka reports only offsets.

One fetch of the largest range of each topic measures it, and shows before Spark starts that brokers deliver records.
"""

from collections.abc import Sequence

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Runtime
from kctl.pipeline.isolation import ReadingProperties
from kctl.pipeline.range_fetch import reading_config
from kctl.pipeline.ranges import OffsetRange

SAMPLE_BYTES = 1 << 20
MOST_SAMPLED = 64
"""Maximum number of measured topics; further topics get the mean."""


def bytes_per_offset(
    properties: ReadingProperties, ranges: Sequence[OffsetRange], runtime: Runtime | None = None
) -> dict[str, float]:
    largest: dict[str, OffsetRange] = {}
    for each in ranges:
        if each.size > 0 and each.size > (largest[each.topic].size if each.topic in largest else 0):
            largest[each.topic] = each
    if not largest:
        return {}
    sampled = dict(sorted(largest.items())[:MOST_SAMPLED])
    found = _measured(properties, sampled, runtime or system_runtime())
    mean = sum(found.values()) / len(found)
    return {topic: found.get(topic, mean) for topic in largest}


def _measured(properties: ReadingProperties, sampled: dict[str, OffsetRange], runtime: Runtime) -> dict[str, float]:
    config = reading_config({**properties, "max.partition.fetch.bytes": SAMPLE_BYTES})
    left = {each.topic_partition: each for each in sampled.values()}
    consumer = Consumer(config, runtime, prefetch_bytes=SAMPLE_BYTES)
    try:
        consumer.assign(left)
        for tp, each in left.items():
            consumer.seek(tp, each.start_offset)
        return _read_each(consumer, left, Timer(runtime.clock, config.default_api_timeout_ms))
    finally:
        consumer.close(0)


def _read_each(consumer: Consumer, left: dict[TopicPartition, OffsetRange], timer: Timer) -> dict[str, float]:
    found: dict[str, float] = {}
    while left:
        timer.update()
        chunk = consumer.poll_chunk(timer.remaining_ms / 1000)
        if chunk is None:
            raise _late(consumer, next(iter(left.values())), timer)
        if left.pop(chunk.topic_partition, None) is not None:
            offsets = chunk.next_offset - chunk.fetch_offset
            found[chunk.topic] = chunk.size_bytes / offsets if offsets > 0 else 0.0
            consumer.pause([chunk.topic_partition])
    return found


def _late(consumer: Consumer, waited_for: OffsetRange, timer: Timer) -> ApiTimeout:
    timer.update()
    reason = consumer.waiting_for()[waited_for.topic_partition]
    return ApiTimeout(
        f"waiting for offset {waited_for.start_offset} of {waited_for}: {reason.text or 'cause unknown'}",
        timeout_ms=timer.timeout_ms,
        elapsed_ms=timer.elapsed_ms,
        cause=reason.cause,
    )
