"""Runs kctl inside the test's process, with streams in memory; for tests that need no signal, terminal or pipe."""

import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import NamedTuple
from unittest.mock import patch

from kctl.cli.app import run
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.client.clock import Clock, SystemClock
from kctl.client.runtime import Runtime

RUNTIME_USERS = (
    "kctl.client.network.system",
    "kctl.client.admin.admin",
    "kctl.client.consumer.consumer",
    "kctl.client.producer.producer",
    "kctl.cli.bench.run",
    "kctl.cli.groups.lag_watch",
    "kctl.cli.metadata_wait",
    "kctl.cli.partitions.move",
    "kctl.cli.probe.session",
    "kctl.cli.produce.run",
    "kctl.cli.wait_loop",
    "kctl.cli.why.run",
    "kctl.serdes.system_registry",
)
"""The modules that take the runtime of the system."""


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    stdout: bytes
    stderr: str


def run_in_process(
    *arguments: str,
    stdin: bytes = b"",
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    runtime: Runtime | None = None,
    stdout_is_tty: bool = False,
    columns: int = 80,
    stdout: io.BytesIO | None = None,
) -> Ended:
    """Return how one command line ended.

    Args:
        runtime: the surroundings of all clients, and the clock, instead of those of the system.
        stdout: takes the output, for one that is too large to keep.
    """
    if runtime is not None:
        clock = runtime.clock
    stdout, stderr = stdout or io.BytesIO(), io.BytesIO()
    errors = io.TextIOWrapper(stderr, "utf-8", "backslashreplace", write_through=True)
    environment = Environment(
        stdin=io.BytesIO(stdin),
        stdout=stdout,
        stderr=errors,
        environ={} if environ is None else environ,
        clock=clock or SystemClock(),
        stdout_is_tty=stdout_is_tty,
        columns=columns,
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )
    printed = io.TextIOWrapper(stdout, "utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(errors), _warnings_logged(), ExitStack() as stack:
        if runtime is not None:
            for module in [import_module(name) for name in RUNTIME_USERS]:  # all imported before the first changes
                stack.enter_context(patch.object(module, "system_runtime", lambda: runtime))
        code = run(list(arguments), environment)
    return Ended(code, stdout.getvalue(), stderr.getvalue().decode())


def _is_unhandled(record: logging.LogRecord) -> bool:
    """Return whether no logger below the root has a handler for a line; Python then uses its last resort."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None and logger.parent is not None:
        if logger.handlers:
            return False
        logger = logger.parent
    return True


@contextmanager
def _warnings_logged() -> Iterator[None]:
    """Write what is logged to stderr, as Python does in a process that has not set up logging."""
    handler = logging.lastResort
    assert handler is not None
    handler.addFilter(_is_unhandled)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.removeFilter(_is_unhandled)
