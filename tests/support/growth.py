"""Growth of work with its size: executed calls of Python functions, counted in one thread, and their exponent."""

import math
import sys
from collections.abc import Callable
from types import FrameType

COUNTED = ("/kctl/client/", "/kctl/cli/", "/json/")
"""The sandbox runs in the same thread; its calls are not counted."""


def calls_of(work: Callable[[], object]) -> int:
    """Run some work and return how many functions of the client and the commands were called or resumed meanwhile."""
    calls = 0
    is_counted: dict[str, bool] = {}

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event != "call":
            return
        path = frame.f_code.co_filename
        counts = is_counted.get(path)
        if counts is None:
            counts = is_counted[path] = any(part in path for part in COUNTED)
        calls += counts

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def exponent(costs: tuple[int, int, int]) -> float:
    """Return the exponent of the costs at n, 2n and 4n, without the part that does not grow."""
    first, second, third = costs
    return math.log2(max(1, third - second) / max(1, second - first))
