"""RecordSender against a producer that blocks in virtual time: one deadline for metadata, one for memory."""

from collections.abc import Sequence

import pytest

from kctl.cli.produce.outcomes import Outcomes
from kctl.cli.produce.record_sender import RecordSender
from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.config import ProducerConfig
from kctl.client.errors import DeliveryTimeout, MaxBlockTimeout, RecordTooLargeError
from kctl.client.producer import RowsCallback, SettledRows
from kctl.client.producer.future import Outcome
from kctl.client.producer.record import Headers
from kctl.client.records import Rows


class _Producer:
    """Takes `takes[0]` rows of the first call, `takes[1]` of the second, ...; then it blocks for the timeout.

    Args: deliver_at_ms: when the first row of the first call is delivered; None: never.
    """

    def __init__(self, clock: ManualClock, takes: Sequence[int], deliver_at_ms: int | None = None) -> None:
        self._clock = clock
        self._takes = list(takes)
        self._deliver_at_ms = deliver_at_ms
        self.metadata_ms = 0
        self.most_bytes = 100
        self.taken: list[bytes | None] = []

    def partitions_for(self, topic: str, timeout: float | None = None) -> object:
        assert timeout is not None
        timeout_ms = round(timeout * 1000)
        self._clock.advance(min(timeout_ms, self.metadata_ms))
        if timeout_ms < self.metadata_ms:
            raise MaxBlockTimeout(f"metadata of {topic}", timeout_ms=timeout_ms, elapsed_ms=timeout_ms)
        return []

    def send(self, *given: object) -> object:
        return None

    def send_columns(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers | None] | None = None,
        timestamps_ms: Sequence[int | None] | None = None,
        callback: RowsCallback | None = None,
        timeout: float | None = None,
    ) -> object:
        assert timeout is not None
        assert callback is not None
        for row, value in enumerate(values):
            if len(value or b"") > self.most_bytes:
                raise RecordTooLargeError("too large", row=row)
        count = self._takes.pop(0) if self._takes else len(values)
        self.taken += values[:count]
        if count >= len(values):
            return None
        ends_at_ms = self._clock.now_ms() + round(timeout * 1000)
        if self._deliver_at_ms is not None:
            self._clock.advance(self._deliver_at_ms - self._clock.now_ms())
            self._deliver_at_ms = None
            callback(SettledRows(TopicPartition(topic, 0), Outcome(), 0, lambda: Rows(list(values)), 0, 1))
        self._clock.advance(ends_at_ms - self._clock.now_ms())
        error = MaxBlockTimeout("memory", timeout_ms=round(timeout * 1000), elapsed_ms=round(timeout * 1000))
        error.accepted = count
        raise error


def _sender(clock: ManualClock, producer: _Producer, **properties: object) -> RecordSender:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    config = ProducerConfig.parse({"bootstrap.servers": "h:1", "max.block.ms": 60_000} | named)
    return RecordSender(producer, Outcomes(clock.now_ms, lambda *_: None), clock, config)


ROWS = [b"%d" % number for number in range(10)]


@pytest.mark.parametrize(("delivered_at_ms", "ends_at_ms"), [(None, 60_000), (1_000, 61_000), (59_000, 119_000)])
def test_wait_for_memory_ends_max_block_ms_after_the_last_delivery(
    delivered_at_ms: int | None, ends_at_ms: int
) -> None:
    clock = ManualClock()
    producer = _Producer(clock, [4, 0], delivered_at_ms)
    sender = _sender(clock, producer)
    with pytest.raises(MaxBlockTimeout) as caught:
        sender.send_rows("t", ROWS, None, None, None)
    assert clock.now_ms() == ends_at_ms
    assert (caught.value.timeout_ms, caught.value.elapsed_ms) == (60_000, 60_000)
    assert (sender.sent, producer.taken) == (4, ROWS[:4])


def test_rows_continue_where_memory_took_the_first_and_one_was_delivered() -> None:
    clock = ManualClock()
    producer = _Producer(clock, [4, 3, 3], 30_000)
    sender = _sender(clock, producer)
    with pytest.raises(MaxBlockTimeout):
        sender.send_rows("t", ROWS, None, None, None)
    assert (clock.now_ms(), sender.sent, producer.taken) == (90_000, 7, ROWS[:7])


def test_wait_for_metadata_is_a_part_of_the_delivery() -> None:
    clock = ManualClock()
    producer = _Producer(clock, [])
    producer.metadata_ms = 5_000
    sender = _sender(clock, producer, delivery_timeout_ms=2_000, request_timeout_ms=1_000)
    with pytest.raises(DeliveryTimeout, match=r"timed out after 2s \(delivery.timeout.ms\) while"):
        sender.send_rows("t", ROWS, None, None, None)
    assert clock.now_ms() == 2_000
    with pytest.raises(DeliveryTimeout):
        sender.send("t", b"", None, None, (), 0)
    assert clock.now_ms() == 4_000
    producer.metadata_ms = 0
    sender.send_rows("t", ROWS, None, None, None)
    assert sender.sent == 10


def test_rows_before_the_one_that_is_too_large_are_sent_but_not_in_a_transaction() -> None:
    rows: list[bytes | None] = [*ROWS, bytes(101), b"", bytes(200)]
    for transactional_id, sent in ((None, 10), ("x", 0)):
        producer = _Producer(ManualClock(), [])
        sender = _sender(
            ManualClock(), producer, **({"transactional_id": transactional_id} if transactional_id else {})
        )
        with pytest.raises(RecordTooLargeError) as caught:
            sender.send_rows("t", rows, None, None, None)
        assert (caught.value.row, sender.sent, len(producer.taken)) == (10, sent, sent)
