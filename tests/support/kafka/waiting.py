"""Bounded waiting for things outside this process; the only place of the fixtures that polls.

Must not be used for what a test asserts about time.
"""

import threading
from collections.abc import Callable

from kctl.client.admin import LATEST, Admin
from kctl.client.clock import SystemClock, Timer
from kctl.client.cluster import TopicPartition
from tests.support.bounds import bound

MARKERS_BOUND_MS = bound(30_000)


class WaitTimeout(Exception):
    """What was waited for did not happen within its limit."""


def wait_until(is_done: Callable[[], bool], timeout_ms: int, what: str, interval_ms: int = 20) -> None:
    """Return as soon as `is_done()` is true, asked every `interval_ms`.

    Raises:
        WaitTimeout: still false after `timeout_ms`; the message names `what`.
    """
    timer = Timer(SystemClock(), timeout_ms)
    pause = threading.Event()
    while not is_done():
        timer.update()
        if timer.is_expired:
            raise WaitTimeout(f"{what}: not within {timeout_ms} ms")
        pause.wait(interval_ms / 1000)


def wait_for_markers(bootstrap: str, topic: str) -> None:
    """Return once no transaction is open in a topic: brokers acknowledge a commit before they write its markers."""
    with Admin({"bootstrap.servers": bootstrap}) as admin:
        asked = {TopicPartition(topic, number): LATEST for number in admin.describe_topics([topic])[topic].partitions}

        def has_none() -> bool:
            stable = admin.list_offsets(asked, isolation_level="read_committed")
            return stable.done == admin.list_offsets(asked).done

        wait_until(has_none, MARKERS_BOUND_MS, f"the markers of transactions in {topic}")
