"""What the errors of limits say."""

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import ApiTimeout, RequestTimeout


def test_a_limit_is_told_with_what_was_measured_and_awaited() -> None:
    error = ApiTimeout(
        "waiting for x", timeout_ms=100, elapsed_ms=101, cause=RequestTimeout("y", timeout_ms=1, elapsed_ms=1)
    )
    assert str(error).startswith(
        "101 ms of 100 ms (--api-timeout) passed while waiting for x; last error: 1 ms of 1 ms"
    )


def test_a_call_without_a_limit_names_none() -> None:
    error = ApiTimeout("waiting for x", timeout_ms=FOREVER_MS, elapsed_ms=4000)
    assert str(error) == "4000 ms, without a limit of its own, passed while waiting for x"
