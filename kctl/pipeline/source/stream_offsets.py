"""StreamOffsets: start or end of a stream's batch, and its JSON in Spark's checkpoints.

The JSON is the format of Spark's connector, {"topic": {"0": 23}}, with topic IDs and log ends added. They show whether
a topic was recreated. Checkpoints without them are accepted.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.pipeline.ranges import Offsets
from kctl.pipeline.resume_point import NO_LOG_END, ResumePoint

JsonOffsets = dict[str, dict[str, Any]]
TOPIC_IDS: Final = "#topic_ids"
LOG_ENDS: Final = "#log_ends"
STARTS: Final = "#starts"
"""Additional keys in the JSON, which are not valid topic names."""


class StreamOffsets(NamedTuple):
    """Start or end of a batch.

    Attributes:
        topic_ids: IDs by topic, if the brokers have IDs.
        log_ends: known ends of the partitions when the offsets were chosen.
        starts: start of the first batch, stored in its end and in the initial offsets. Spark requests the initial
            offsets at each restart until the first batch is committed, and partitions and ends may differ by then.
    """

    offsets: Offsets
    topic_ids: Mapping[str, str]
    log_ends: Offsets
    starts: Offsets | None = None

    @property
    def is_initial(self) -> bool:
        return self.starts == self.offsets

    def first_batch_to(self, end: "StreamOffsets") -> "StreamOffsets":
        """Return the initial offsets with which the first batch, up to `end`, was planned."""
        if end.starts is not None:
            return StreamOffsets(end.starts, end.topic_ids, {}, end.starts)
        return self._replace(offsets={tp: offset for tp, offset in self.offsets.items() if tp in end.offsets})

    def point(self, tp: TopicPartition) -> ResumePoint:
        return ResumePoint(self.offsets[tp], self.topic_id(tp.topic), self.log_ends.get(tp, NO_LOG_END))

    def topic_id(self, topic: str) -> str:
        return self.topic_ids.get(topic, "")


def as_json(known: StreamOffsets) -> JsonOffsets:
    """Return offsets as sorted JSON objects, because Spark compares their text."""
    found: JsonOffsets = by_topic(known.offsets)
    if topic_ids := {topic: topic_id for topic, topic_id in sorted(known.topic_ids.items()) if topic_id}:
        found[TOPIC_IDS] = topic_ids
    if known.log_ends:
        found[LOG_ENDS] = by_topic(known.log_ends)
    if known.starts is not None:
        found[STARTS] = by_topic(known.starts)
    return found


def by_topic(offsets: Offsets) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def as_offsets(written: Mapping[str, Mapping[str, Any]]) -> StreamOffsets:
    """Return the offsets of a checkpoint. Checkpoints of Spark's connector have neither topic IDs nor log ends."""
    topics = {topic: partitions for topic, partitions in written.items() if topic not in (TOPIC_IDS, LOG_ENDS, STARTS)}
    return StreamOffsets(
        by_partition(topics),
        dict(written.get(TOPIC_IDS, {})),
        by_partition(written.get(LOG_ENDS, {})),
        by_partition(written[STARTS]) if STARTS in written else None,
    )


def by_partition(topics: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in topics.items()
        for partition, offset in partitions.items()
    }
