"""kctl as a user runs it: fed, signalled, and ended within a wide bound.

`kctl()` runs a process, or the same command line inside the test's process: tests/cli/conftest.py chooses.
Processes run the source of this tree, or, with KCTL_TEST_COMMAND=PATH, the `kctl` that a package installed there.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.cli.isolation import isolated
from tests.support.bounds import bound
from tests.support.in_process import Ended as Ended
from tests.support.in_process import run_in_process

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
BOUND_S = bound(120)
"""No run of these tests takes nearly as long; a hang ends here."""
NO_PROFILES = "/nonexistent"
"""A place without profiles: those of whoever runs the tests are not theirs."""
INSTALLED = os.environ.get("KCTL_TEST_COMMAND")
KCTL = (INSTALLED,) if INSTALLED else (sys.executable, "-m", "kctl")
PYTHON = str(Path(INSTALLED).parent / "python") if INSTALLED else sys.executable
"""The interpreter that has the same kctl."""
HAS_SPARK = not INSTALLED and find_spec("pyspark") is not None
"""Whether the kctl that is run has Spark beside it; a package is installed without."""

CHECKED_LINES = 1000
"""How many lines of a listing as JSON lines are held to the schema: one takes a millisecond."""

_WAIT = re.compile(r"(?m)^kctl [\w-]+: (?:waiting: .*|continuing)\n")

is_checked = False
"""Whether each listing that is printed as JSON is held to its schema; set for all of tests/cli."""
is_in_process = False
"""Whether `kctl()` starts no process; set for each test of tests/cli that is not marked `process`."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a child: ours without any KCTL_*, no profiles, no folder for caches, and `extra`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("KCTL_")}
    pure = {"KCTL_PURE": os.environ["KCTL_PURE"]} if "KCTL_PURE" in os.environ else {}
    source = {} if INSTALLED else {"PYTHONPATH": str(ROOT)}
    own = {"COLUMNS": "80", "XDG_CONFIG_HOME": NO_PROFILES, "XDG_CACHE_HOME": os.devnull}
    return {**ours, **pure, **source, **own, **(extra or {})}


def kctl(
    *arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None, shows_waits: bool = False
) -> Ended:
    """Run kctl to its end; its notices of waits, which a slow machine causes, are left out unless they are wanted."""
    run = _run_inside if is_in_process else _run_process
    ended = run(arguments, stdin, environment(environ))
    if not shows_waits:
        ended = ended._replace(stderr=_WAIT.sub("", ended.stderr))
    if is_checked:
        _check_shape(ended.stdout)
    return ended


def _run_process(arguments: Sequence[str], stdin: bytes, environ: Mapping[str, str]) -> Ended:
    ended = subprocess.run(
        [*KCTL, *arguments], input=stdin, capture_output=True, env=environ, timeout=BOUND_S, check=False
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


class Measured(NamedTuple):
    """How a process of kctl ended, and its costs."""

    code: int
    stderr: str
    cpu_s: float
    peak_bytes: int


_MEASURE = (
    "import resource, subprocess, sys\n"
    "with open(sys.argv[1], 'wb') as out:\n"
    "    code = subprocess.run(sys.argv[2:], stdout=out).returncode\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(code, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)"
)
"""A small process starts kctl: the peak of a process begins with the peak of the process that forked it."""


def measure(*arguments: str, to: Path, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Measured:
    """Run kctl as a process with its output in a file, and return its CPU and peak memory."""
    ended = subprocess.run(
        [sys.executable, "-S", "-c", _MEASURE, str(to), *KCTL, *arguments],
        input=stdin, capture_output=True, env=environment(environ), check=True, timeout=BOUND_S,
    )  # fmt: skip
    code, cpu_s, peak_bytes = ended.stdout.split()
    return Measured(int(code), ended.stderr.decode(), float(cpu_s), int(peak_bytes))


def _run_inside(arguments: Sequence[str], stdin: bytes, environ: Mapping[str, str]) -> Ended:
    with isolated(BOUND_S):
        return run_in_process(*arguments, stdin=stdin, environ=environ, columns=int(environ["COLUMNS"]))


def _check_shape(stdout: bytes) -> None:
    """Hold a listing that a command printed as JSON to the schema of the docs, whatever the test is about."""
    if stdout.startswith((b'{\n  "v": 1,\n  "kind": ', b'{"v": 1, "kind": ')) and b'"kind": "why"' not in stdout[:99]:
        for listing in [stdout] if stdout.startswith(b"{\n") else stdout.splitlines()[:CHECKED_LINES]:
            listing_validator().validate(json.loads(listing))


@cache
def listing_validator() -> "Draft202012Validator":
    """Return the validator of listings, made once: that takes longer than a run of kctl."""
    from jsonschema import Draft202012Validator  # for tests that print JSON

    return Draft202012Validator(json.loads((ROOT / "docs" / "schemas" / "listing.v1.json").read_text()))


@contextmanager
def running(
    *arguments: str, stdin: int = subprocess.PIPE, program: Sequence[str] = KCTL
) -> Iterator[subprocess.Popen[bytes]]:
    """Run kctl while the body lasts; whatever it does, nothing is left running."""
    process = subprocess.Popen(
        [*program, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=BOUND_S)


def line_with(process: "subprocess.Popen[bytes]", wanted: str) -> str:
    """Return the first line on stderr that has a text."""
    assert process.stderr is not None
    for line in process.stderr:
        if wanted in line.decode():
            return line.decode().strip()
    raise AssertionError(f"no line with {wanted!r}")


def address_of(sandbox: "subprocess.Popen[bytes]") -> str:
    """Return the bootstrap servers that `kctl sandbox start -q` prints once it listens."""
    assert sandbox.stdout is not None
    line = sandbox.stdout.readline().decode().strip()
    assert line, end(sandbox).stderr
    return line


def end(process: "subprocess.Popen[bytes]", number: signal.Signals | None = None) -> Ended:
    """Signal the process if wanted, and wait for its end."""
    if number is not None:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=BOUND_S)
    return Ended(process.returncode, stdout, stderr.decode())
