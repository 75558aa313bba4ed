"""What all tests share: the fixtures of the real brokers, profiles of properties, unstable tests, and Ctrl-C.

What was collected lives until the end: the garbage collector does not look through thousands of tests again and again.

A shell starts a background process with SIGINT ignored, and every process that tests start would inherit that.
The same holds for the options that the Makefile gives to pytest.
"""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).parents[1]
UNSTABLE = ROOT / "tests" / "unstable.txt"
"""Tests that fail now and then, a line each: node id, `|`, kind. They run and are reported, and decide nothing."""

_plain = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("test", _plain, derandomize=True, database=None, max_examples=50)
"""The same examples in each run: `make test`."""
settings.register_profile("check", settings.get_profile("test"), max_examples=25)
settings.register_profile(
    "nightly", _plain, database=DirectoryBasedExampleDatabase(ROOT / "build" / "examples"), print_blob=True
)
"""New examples in each run; a failed one is kept, printed, and tried first in the next run."""
settings.load_profile("test")
gc.disable()  # until everything is collected

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("PYTEST_ADDOPTS", None)

pytest_plugins = ["tests.support.kafka.plugin"]


def unstable_tests(text: str) -> dict[str, str]:
    """Return the kind of each unstable test, by node id."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {test.strip(): kind.strip() for test, _, kind in (line.partition("|") for line in lines)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unstable = unstable_tests(UNSTABLE.read_text())
    for item in items:
        if item.nodeid in unstable:
            item.add_marker(pytest.mark.xfail(strict=False, reason=f"unstable: {unstable[item.nodeid]}"))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)
