"""Part of a look about compacted logs: the oldest keys that should be compacted."""

from typing import NamedTuple

from kctl.client.admin import KeyRange, KeySample
from kctl.client.admin.records import SAMPLE_BYTES
from kctl.client.cluster import TopicPartition
from kctl.why.gathering.asker import MOST_READ, Asker
from kctl.why.look import Look, OldKeys

OLD_MS = 3_600_000
"""Time in ms after which the log cleaner has certainly failed, because it checks every 15 s."""
LEAST_SEGMENTS = 2
"""Minimum size in segments, so that one is not active: active segments are never compacted."""
SURE_SHARE = 2
"""Divisor of the clean part, because sizes by offset are estimates."""


class _Compacted(NamedTuple):
    size_bytes: int
    clean_bytes: int
    age_ms: int


def with_old_keys(asker: Asker, look: Look) -> Look:
    """Add samples from the start of the largest compacted logs, from the part that should be clean."""
    sizes = _sizes(look)
    every = {tp: found for tp in asker.readable(look.partitions, sizes) if (found := _compacted(look, tp, sizes[tp]))}
    largest = sorted(every, key=lambda tp: -sizes[tp])[:MOST_READ]
    specs = {tp: max(0, look.wall_ms - every[tp].age_ms) for tp in largest}
    if not specs:
        return look
    young = asker.each("ListOffsets", "record ages", lambda s: asker.admin.list_offsets(specs, timeout=s))
    ranges: dict[TopicPartition, KeyRange] = {}
    for tp, place in young.items():
        start, end = look.starts.get(tp), look.ends.get(tp)
        if start is not None and end is not None:
            until = end.offset if place.offset < 0 else place.offset
            most = min(SAMPLE_BYTES, every[tp].clean_bytes // SURE_SHARE)
            ranges[tp] = KeyRange(start.offset, until, most)
    samples = asker.read("the oldest records of compacted topics", ranges, asker.admin.sample_keys)
    old = {
        tp: OldKeys(ranges[tp].offset, sample, every[tp].size_bytes, every[tp].age_ms)
        for tp, sample in samples.items()
        if isinstance(sample, KeySample)
    }
    return look._replace(old_keys=old)


def _compacted(look: Look, tp: TopicPartition, size_bytes: int) -> _Compacted | None:
    configs = look.topic_configs.get(tp.topic, {})
    policy, segment, ratio, lag = (configs.get(name) for name in _NAMES)
    if policy is None or "compact" not in policy.value or segment is None or ratio is None or lag is None:
        return None
    try:
        segment_bytes, dirty_share, lag_ms = int(segment.value), float(ratio.value), int(lag.value)
    except ValueError:
        return None
    if size_bytes < LEAST_SEGMENTS * segment_bytes or not 0 <= dirty_share < 1:
        return None
    return _Compacted(size_bytes, int((size_bytes - segment_bytes) * (1 - dirty_share)), lag_ms + OLD_MS)


_NAMES = ("cleanup.policy", "segment.bytes", "min.cleanable.dirty.ratio", "min.compaction.lag.ms")


def _sizes(look: Look) -> dict[TopicPartition, int]:
    known = look.partitions
    return {
        tp: size
        for node_id, dirs in look.log_dirs.items()
        for each in dirs
        for tp, size in each.replica_bytes.items()
        if tp in known and known[tp].leader_id == node_id
    }
