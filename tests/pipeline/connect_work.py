"""Work of tasks for test_connect, which is sent by value: the workers' Python has neither tests nor kctl."""

import os
import threading

from kctl.client.errors import ApiTimeout
from kctl.pipeline.task_rounds import Attempt


def squared(item: int, _attempt: Attempt) -> int:
    return item * item


def held(item: int, _attempt: Attempt) -> int:
    """Item 0 fails, and the others go on until somebody ends them."""
    if item == 0:
        raise ApiTimeout("for the test", timeout_ms=5, elapsed_ms=6)
    threading.Event().wait(600)
    return item


def broken(item: int, _attempt: Attempt) -> int:
    return [item][5]


def dying(_item: int, attempt: Attempt) -> int:
    """Item 0 dies at its first attempt."""
    if attempt.number == 0:
        os.kill(os.getpid(), 9)
    return attempt.number


def always_dying(_item: int, _attempt: Attempt) -> int:
    os.kill(os.getpid(), 9)
    return 0
