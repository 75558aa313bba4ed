"""ResumePoint: where the copy of a partition continues, and how it is known that the topic is still the same.

Exports, mirrors and streams remember the topic's id beside the offset. Where the brokers have no topic ids, the end of
the log shows at least that a topic was recreated with fewer records.
"""

from typing import Final, NamedTuple

NO_LOG_END: Final = -1
"""Of a position that was kept without it, as by older versions of kctl."""


class ResumePoint(NamedTuple):
    """Where a partition continues, and the log that the offset belongs to.

    Attributes:
        offset: the next one to copy.
        topic_id: of the topic that was copied last, as Kafka prints it; empty where it is not known.
        log_end: the last end of the partition that was seen.
        newest_ms: largest timestamp of the records that were copied; None if it is not known.
    """

    offset: int = 0
    topic_id: str = ""
    log_end: int = NO_LOG_END
    newest_ms: int | None = None

    def problem(self, topic: str, partition: int, topic_id: str, end: int) -> str:
        """Return why the partition is not the one that was copied; empty where it is.

        Args:
            topic_id: of the topic that has the name now; empty where it is not known.
            end: of the partition now.
        """
        if self.topic_id and topic_id:
            if self.topic_id != topic_id:
                return (
                    f"topic {topic} was deleted and recreated (topic id {self.topic_id} when it was copied, "
                    f"{topic_id} now)"
                )
            seen = self.offset
        else:
            seen = max(self.offset, self.log_end)
        if seen <= end:
            return ""
        return (
            f"{topic}-{partition} ends at offset {end}, and ended at {seen} or later when it was copied: "
            "the topic was deleted and recreated, or its log was truncated"
        )
