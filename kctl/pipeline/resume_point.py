"""ResumePoint: position at which the copy of a partition continues, with a check that the topic is unchanged.

Without topic IDs, the end of the log shows at least that a topic was recreated with fewer records.
"""

from typing import Final, NamedTuple

NO_LOG_END: Final = -1
"""Log end of a position that was stored without one."""


class ResumePoint(NamedTuple):
    """Next offset of a partition, and the log that the offset belongs to.

    Attributes:
        topic_id: ID of the topic that was copied last, as Kafka prints it. Empty if unknown.
        log_end: end of the partition at the last check.
        newest_ms: largest timestamp of the copied records. None if unknown.
    """

    offset: int = 0
    topic_id: str = ""
    log_end: int = NO_LOG_END
    newest_ms: int | None = None

    def problem(self, topic: str, partition: int, topic_id: str, end: int) -> str:
        """Return why the partition is not the one that was copied, or an empty string.

        Args:
            topic_id: ID of the existing topic. Empty if unknown.
            end: current end of the partition.
        """
        if self.topic_id and topic_id:
            if self.topic_id != topic_id:
                return (
                    f"topic {topic} was deleted and recreated: its topic ID was {self.topic_id}, and is now {topic_id}"
                )
            seen = self.offset
        else:
            seen = max(self.offset, self.log_end)
        if seen <= end:
            return ""
        return (
            f"{topic}-{partition} ends at offset {end}, but an earlier run found offset {seen}: the topic was "
            f"deleted and recreated, or its log was truncated"
        )
