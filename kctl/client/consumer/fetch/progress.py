"""Detection of responses without progress: early empty responses, and batches that end before the position.

Brokers hold a fetch without records for `fetch.max.wait.ms`. Early empty responses would cause a busy loop.
"""

from random import Random

from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.errors import CorruptBatchError, NoProgressError
from kctl.client.protocol.api.fetch import PartitionData
from kctl.client.requests.retry import retry_backoff

EARLY_RESPONSES = 3
"""Number of consecutive early empty responses after which the next fetch waits for a backoff."""


class FetchPace:
    def __init__(self, config: ConsumerConfig, rng: Random) -> None:
        self._backoff = retry_backoff(config, rng)
        self._early: dict[int, int] = {}
        self._next_at_ms: dict[int, int] = {}

    def next_at_ms(self, node_id: int) -> int:
        return self._next_at_ms.get(node_id, 0)

    def on_response(self, node_id: int, now_ms: int, *, is_early_and_empty: bool) -> None:
        if not is_early_and_empty:
            self._early.pop(node_id, None)
            self._next_at_ms.pop(node_id, None)
            return
        early = self._early[node_id] = self._early.get(node_id, 0) + 1
        if early >= EARLY_RESPONSES:
            self._next_at_ms[node_id] = now_ms + self._backoff.backoff_ms(early - EARLY_RESPONSES)


def is_news(data: PartitionData, next_offset: int) -> bool:
    """Return whether a response has records, an error, a follower to read from, or a truncation.

    Source: KIP-595. A diverging epoch counts only if it ends before the requested offset; otherwise the fetch is
        repeated.
    """
    if data.error_code or data.preferred_read_replica >= 0:
        return True
    if data.diverging_epoch.end_offset >= 0:  # records next to it are ignored
        return data.diverging_epoch.end_offset < next_offset
    return bool(data.records)


def no_progress(tp: TopicPartition, position: int, size_bytes: int) -> NoProgressError:
    return NoProgressError(
        f"cannot fetch {tp} from offset {position}: the leader returned {size_bytes} bytes of record batches that "
        f"end at offset {position - 1}",
        topic=tp.topic,
        partition=tp.partition,
        position=position,
    )


def corrupt_batch(
    tp: TopicPartition, base_offset: int, damage: str, whole_bytes: int, resume_offset: int | None
) -> CorruptBatchError:
    return CorruptBatchError(
        f"{tp} is damaged at or after offset {base_offset}: {damage}",
        topic=tp.topic,
        partition=tp.partition,
        base_offset=base_offset,
        offset=whole_bytes,
        resume_offset=resume_offset,
    )
