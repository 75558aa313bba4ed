"""Runs commands against a fault, and compares their exit codes and messages with the catalogue.

Processes run side by side, as they mostly wait; inside the test's process one command runs after the other.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import matches
from kctl.cli.explanations.faults import FAULTS
from kctl.client.clock import SystemClock
from tests.cli.processes import KCTL, Ended, environment, kctl
from tests.support.bounds import bound

COMMANDS: dict[str, tuple[str, ...]] = {
    "consume": ("consume", "t", "-e"),
    "produce": ("produce", "t"),
    "topics list": ("topics", "list"),
    "probe": ("probe",),
}
CALLS = ("consume", "produce", "topics list")
START_MS = bound(20_000)
"""More than any process takes to start and to end on a busy machine."""

is_in_process = False
"""Whether commands run one after the other inside the test's process; set by conftest.py."""

_PHASE = re.compile(r" \[phase [^]]*\]$")
"""A probe tells the phase beside the reason."""


class Limits(NamedTuple):
    """The limits of a run in milliseconds; `api_ms` is also that of a delivery."""

    api_ms: int
    connect_ms: int
    request_ms: int

    def options(self, command: str) -> list[str]:
        found = ["--api-timeout", f"{self.api_ms}ms", "--connect-timeout", f"{self.connect_ms}ms"]
        found += ["--request-timeout", f"{self.request_ms}ms"]
        return [*found, "--delivery-timeout", f"{self.api_ms}ms"] if command == "produce" else found


SHORT = Limits(1_500, 500, 500)
"""For faults that are waited for until the deadline."""
LONG = Limits(3 * START_MS, START_MS, START_MS)
"""For faults that end a call at once: whoever waits for a limit is found out."""


class Run(NamedTuple):
    """How a command ended."""

    command: str
    code: int
    stdout: str
    stderr: str
    elapsed_ms: int

    @property
    def said(self) -> str:
        """What it told people: a probe's findings are its data."""
        return self.stdout + self.stderr if self.command == "probe" else self.stderr


def run_all(
    servers: str,
    *options: str,
    limits: Limits = SHORT,
    commands: Iterable[str] = COMMANDS,
    prefix: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
) -> dict[str, Run]:
    """Run the commands, each to its end, and return how they ended; with `prefix`, as processes of that command."""
    clock = SystemClock()

    def run(command: str) -> Run:
        words = [*COMMANDS[command], "-b", servers, *limits.options(command), *options]
        started_at_ms = clock.now_ms()
        if prefix or not is_in_process:
            ended = _process([*prefix, *KCTL, *words], (limits.api_ms + START_MS) / 1000, environ)
        else:
            ended = kctl(*words, stdin=b"a record\n", environ=environ)
        elapsed_ms = clock.now_ms() - started_at_ms
        return Run(command, ended.code, ended.stdout.decode(), ended.stderr, elapsed_ms)

    wanted = list(commands)
    if not prefix and is_in_process:
        return {command: run(command) for command in wanted}
    with ThreadPoolExecutor(len(wanted)) as pool:
        return dict(zip(wanted, pool.map(run, wanted), strict=True))


def _process(line: list[str], bound_s: float, environ: Mapping[str, str] | None) -> Ended:
    done = subprocess.run(
        line, input=b"a record\n", capture_output=True, timeout=bound_s, env=environment(environ), check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def check(fault: int, run: Run, *, code: ExitCode | None = None, hint: str | None = None) -> None:
    """Compare code, reason and hint of a run with the catalogue; `code` and `hint` replace its own."""
    entry = FAULTS[fault]
    assert run.code == (entry.code if code is None else code), run
    reason = entry.reason if run.command != "probe" else _PHASE.sub("", entry.reason)
    assert matches(reason, run.said), (reason, run)
    hint = entry.hint if hint is None else hint
    assert not hint or matches(f"hint: {hint}", run.said), (hint, run)
    assert "Traceback" not in run.stderr, run


def check_waited(run: Run, limits: Limits = SHORT) -> None:
    """Hold that a call went on until the limit that it names, and not much longer."""
    if run.command == "probe":  # tries each address once, so it ends with the connect limit at the latest
        assert run.elapsed_ms <= limits.connect_ms + START_MS, run
        return
    assert re.search(r"timed out after \S+ \((--delivery-timeout|--api-timeout)[ )]", run.stderr), run
    assert limits.api_ms <= run.elapsed_ms <= limits.api_ms + START_MS, run


def check_fails_fast(run: Run) -> None:
    """Hold that a call ended with the second attempt, except those that keep trying unless --fail-fast is given."""
    if run.command == "produce":
        check_waited(run)
    else:
        assert "timed out" not in run.stderr, run


def check_at_once(run: Run) -> None:
    """Hold that no limit was waited for."""
    assert run.elapsed_ms <= START_MS < LONG.api_ms, run
