"""Bounds on waits of tests for processes, threads and brokers: longer on a slow machine."""

import os
from typing import TypeVar

Amount = TypeVar("Amount", int, float)
_SLOW = float(os.environ.get("KCTL_SLOW") or 1)


def bound(most: Amount) -> Amount:
    """Return the longest wait, in the unit of `most`, multiplied by the environment variable KCTL_SLOW.

    A bound ends a test that hangs. No test passes because a bound has passed, so a long one costs nothing.
    """
    return type(most)(most * _SLOW)
