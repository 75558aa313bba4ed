"""kctl as whole processes: started, fed, signalled, and ended within a wide bound.

What is run is the source of this tree, or, with KCTL_TEST_COMMAND=PATH, the `kctl` that a package installed there.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BOUND_S = 30
"""No run of these tests takes nearly as long; a hang ends here."""
NO_PROFILES = "/nonexistent"
"""A place without profiles: those of whoever runs the tests are not theirs."""
INSTALLED = os.environ.get("KCTL_TEST_COMMAND")
KCTL = (INSTALLED,) if INSTALLED else (sys.executable, "-m", "kctl")
PYTHON = str(Path(INSTALLED).parent / "python") if INSTALLED else sys.executable
"""The interpreter that has the same kctl."""


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    stdout: bytes
    stderr: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a child: ours without any KCTL_*, no profiles, and `extra`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("KCTL_")}
    pure = {"KCTL_PURE": os.environ["KCTL_PURE"]} if "KCTL_PURE" in os.environ else {}
    source = {} if INSTALLED else {"PYTHONPATH": str(ROOT)}
    return {**ours, **pure, **source, "COLUMNS": "80", "XDG_CONFIG_HOME": NO_PROFILES, **(extra or {})}


def kctl(*arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None) -> Ended:
    """Run kctl to its end."""
    ended = subprocess.run(
        [*KCTL, *arguments],
        input=stdin,
        capture_output=True,
        env=environment(environ),
        timeout=BOUND_S,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


@contextmanager
def running(*arguments: str, stdin: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """Run kctl while the body lasts; whatever it does, nothing is left running."""
    process = subprocess.Popen(
        [*KCTL, *arguments],
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


def end(process: "subprocess.Popen[bytes]", number: signal.Signals | None = None) -> Ended:
    """Signal the process if wanted, and wait for its end."""
    if number is not None:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=BOUND_S)
    return Ended(process.returncode, stdout, stderr.decode())
