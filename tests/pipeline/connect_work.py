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


def failing_or_held(item: int, attempt: Attempt) -> int:
    """Items 0 to 2, which may be the first ones on the server, fail. The others go on until somebody ends them."""
    return held(0 if item < 3 else item, attempt)


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
