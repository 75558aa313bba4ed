"""What it means that something is missing on this machine: a skip with its reason; a failure where CI is set."""

import os
from collections.abc import Callable
from typing import NoReturn, TypeVar

import pytest

from tests.support.kafka.toolchain import ToolMissing

T = TypeVar("T")


def give_up(reason: str) -> NoReturn:
    """Skip the test that lacks something, or fail it where CI is set: there nothing of the real peers is skipped."""
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.fail(f"CI must have everything: {reason}", pytrace=False)
    pytest.skip(reason)


def have(find: Callable[[], T]) -> T:
    """Return what `find()` returns; give up when it raises `ToolMissing`."""
    try:
        return find()
    except ToolMissing as error:
        give_up(str(error))
