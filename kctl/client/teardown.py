"""What the end of a client takes: the millisecond that a close gives up before its deadline, so that it ends in time.

Shown by tests/unit/consumer/test_network_link.py and tests/sim/producer/test_kip_15.py.
"""

TEARDOWN_MS = 1
"""For failing what is left, closing sockets and ending the thread."""


def teardown_ms(timeout_ms: int) -> int:
    """Return how much before its deadline a close with this timeout gives up: nothing if it has no more than that."""
    return TEARDOWN_MS if timeout_ms > TEARDOWN_MS else 0
