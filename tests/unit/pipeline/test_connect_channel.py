"""Retries of requests to a Spark Connect server, in virtual time."""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.clock import ManualClock
from kctl.pipeline.connect_channel import BACKOFF_MS, RETRY_MS, retry_policy


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def waits(state: Any, clock: ManualClock) -> Iterator[int]:
    """Yield the backoffs of a request that fails immediately each time."""
    while (wait_ms := state.next_attempt()) is not None:
        clock.advance(wait_ms)
        yield wait_ms


def test_retries_of_a_request_end_in_time(clock: ManualClock) -> None:
    found = list(waits(retry_policy(clock).to_state(), clock))
    assert sum(found) == clock.now_ms() == RETRY_MS
    assert max(found) <= BACKOFF_MS + 500


def test_time_starts_with_the_first_failure(clock: ManualClock) -> None:
    state = retry_policy(clock).to_state()
    clock.advance(60_000)
    assert sum(waits(state, clock)) == RETRY_MS


def test_request_that_gave_up_ends_the_retries_of_all(clock: ManualClock) -> None:
    policy = retry_policy(clock)
    waiting = policy.to_state()
    assert waiting.next_attempt() is not None
    assert list(waits(policy.to_state(), clock))
    assert waiting.next_attempt() is None
    assert policy.to_state().next_attempt() is None
