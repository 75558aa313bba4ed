"""What all tests share: the fixtures of the real brokers, no property test judged by the clock, and Ctrl-C as it is.

What was collected lives until the end: the garbage collector does not look through thousands of tests again and again.

A shell starts what runs in its background with SIGINT ignored, and every process that tests start would inherit that.
The same holds for the options with which the Makefile runs failed tests again.
"""

import gc
import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("kctl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("kctl"), max_examples=25)
"""What `make check` runs with: a quarter of the examples of each property that has no number of its own."""
settings.load_profile("kctl")
gc.disable()  # until everything is collected

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("PYTEST_ADDOPTS", None)

pytest_plugins = ["tests.support.kafka.plugin"]


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)
