"""Retries of requests to a Spark Connect server, in virtual time, and errors of a server that is not there."""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.clock import ManualClock
from kctl.pipeline.connect_channel import BACKOFF_MS, RETRY_MS, retry_policy
from kctl.pipeline.job_errors import SparkFailedError
from kctl.pipeline.running import session_over
from kctl.pipeline.spark_failures import explained


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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("status = StatusCode.UNAVAILABLE", "the Spark Connect server does not respond"),
        ("Cannot invoke RPC on closed channel!", "the Spark Connect server does not respond"),
        (
            "[INVALID_HANDLE.SESSION_CHANGED] The handle is invalid.",
            "the Spark Connect server restarted, or closed the session",
        ),
    ],
)
def test_server_that_is_not_there_is_one_line(text: str, line: str) -> None:
    assert str(explained(RuntimeError(text), None)) == line


def test_session_whose_server_does_not_respond_is_not_used() -> None:
    class Spark:
        """A session of a server that exited."""

        def addArtifacts(self, *_paths: str, archive: bool) -> None:
            assert archive
            raise RuntimeError("failed to connect to all addresses")

    spark: Any = Spark()
    with pytest.raises(SparkFailedError, match=r"^the Spark Connect server does not respond$"):
        session_over(spark)
