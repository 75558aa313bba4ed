"""The learned size of batches: near the limit of the broker with few requests, and large again when that is raised."""

from collections import deque

import pytest

from kctl.client.producer.batch_limit import BatchLimit

BATCH_SIZE = 1_000_000
RECORD_BYTES = 200
WINDOW = 5


def requests(limit: BatchLimit, broker_bytes: int, total_bytes: int) -> int:
    """Return in how many requests a producer delivers records to a broker with that limit, as the accumulator does."""
    count, waiting = 0, total_bytes // RECORD_BYTES
    pieces: deque[tuple[int, int]] = deque()
    flying: deque[tuple[int, int]] = deque()
    while waiting or pieces or flying:
        while len(flying) < (WINDOW if limit.is_proven else 1) and (pieces or waiting):
            if not pieces:
                records = min(waiting, max(limit.bytes // RECORD_BYTES, 1))
                pieces.append((limit.bytes, records))
                waiting -= records
            most = max(limit.bytes // RECORD_BYTES, 1)
            made_under, records = pieces.popleft()
            if records > most:
                pieces.extendleft([(limit.bytes, records - most), (limit.bytes, most)])
                continue
            flying.append((made_under, records))
            count += 1
        limit_bytes, records = flying.popleft()
        if records == 1 or records * RECORD_BYTES <= broker_bytes:
            limit.accepted(limit_bytes, records * RECORD_BYTES)
            continue
        limit.refused(records * RECORD_BYTES)
        pieces.appendleft((limit.bytes, records))
    return count


def test_limit_of_a_topic_costs_few_requests_more_than_needed() -> None:
    limit = BatchLimit(BATCH_SIZE)
    count = requests(limit, 100_000, 12_000_000)
    assert 80_000 < limit.bytes <= 200_000
    assert count < 1.35 * 120


def test_limit_that_stays_is_tried_less_and_less_often() -> None:
    limit = BatchLimit(BATCH_SIZE)
    requests(limit, 100_000, 100_000_000)
    assert requests(limit, 100_000, 100_000_000) < 1.15 * 1000


@pytest.mark.parametrize("low_bytes", [1000, 100_000])
def test_limit_that_was_raised_is_used_soon(low_bytes: int) -> None:
    limit = BatchLimit(BATCH_SIZE)
    requests(limit, low_bytes, 300 * low_bytes)
    requests(limit, BATCH_SIZE, 200 * low_bytes + 3 * BATCH_SIZE)
    assert limit.bytes == BATCH_SIZE


def test_batch_made_under_a_larger_limit_does_not_lower_it() -> None:
    limit = BatchLimit(BATCH_SIZE)
    for _ in range(WINDOW):
        limit.refused(BATCH_SIZE)
    assert limit.bytes == BATCH_SIZE // 2


def test_small_batch_that_is_refused_lowers_the_limit_below_it() -> None:
    limit = BatchLimit(BATCH_SIZE)
    limit.refused(3000)
    assert limit.bytes == 1500
    limit.refused(1)
    assert limit.bytes == 1


def test_batches_that_are_not_full_say_nothing_of_larger_ones() -> None:
    limit = BatchLimit(BATCH_SIZE)
    limit.refused(BATCH_SIZE)
    for _ in range(100):
        limit.accepted(limit.bytes, limit.bytes // 2)
    assert limit.bytes == BATCH_SIZE // 2


def test_broker_that_lowers_its_limit_again_is_followed() -> None:
    limit = BatchLimit(BATCH_SIZE)
    requests(limit, 100_000, 12_000_000)
    assert requests(limit, 1000, 100_000) < 1.5 * 100 + 20
    assert limit.bytes <= 2000
