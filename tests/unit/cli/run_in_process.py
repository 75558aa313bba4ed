"""Runs kctl inside the test's process, with streams in memory; for what needs no signal, terminal or pipe."""

import io
from collections.abc import Mapping
from typing import NamedTuple

from kctl.cli.app import run
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.client.clock import Clock, SystemClock


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
    stdout_is_tty: bool = False,
    columns: int = 80,
) -> Ended:
    """Return how one command line ended."""
    stdout, stderr = io.BytesIO(), io.StringIO()
    environment = Environment(
        stdin=io.BytesIO(stdin),
        stdout=stdout,
        stderr=stderr,
        environ={} if environ is None else environ,
        clock=clock or SystemClock(),
        stdout_is_tty=stdout_is_tty,
        columns=columns,
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )
    code = run(list(arguments), environment)
    return Ended(code, stdout.getvalue(), stderr.getvalue())
