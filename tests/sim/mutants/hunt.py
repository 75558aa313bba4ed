"""Mutation test: adds one bug after the other to a copy of the client, and runs the corpus and seeds until one fails.

The copy is in a temporary directory. Started by `python -m tests.sim mutants`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.sim.mutants.aio_mutants import AIO_MUTANTS, AIO_PRODUCER_MUTANTS
from tests.sim.mutants.mutants import MUTANTS, Mutant
from tests.sim.mutants.producer_mutants import PRODUCER_MUTANTS

ROOT = Path(__file__).parents[3]
ALL = (*MUTANTS, *PRODUCER_MUTANTS, *AIO_MUTANTS, *AIO_PRODUCER_MUTANTS)


class StaleMutant(Exception):
    """The text that a mutant replaces is not in its file, or not once."""


def plant(mutant: Mutant, root: Path) -> None:
    """Replace the mutant's texts in the tree at `root`.

    Raises:
        StaleMutant: it is not there exactly once.
    """
    for name, old, new in mutant.replacements:
        path = root / name
        text = path.read_text()
        if text.count(old) != 1:
            raise StaleMutant(f"{mutant.name}: {name} has {text.count(old)} times: {old}")
        path.write_text(text.replace(old, new))


def hunt_one(seeds: int, mutant: Mutant) -> str:
    """Return the line of the first seed that fails, empty when none does."""
    with tempfile.TemporaryDirectory(prefix="kctl-mutant-") as folder:
        root = Path(folder)
        shutil.copytree(ROOT / "kctl", root / "kctl", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__", "data"))
        plant(mutant, root)
        command = [sys.executable, "-m", "tests.sim", "run", "--corpus", "--seeds", f"0:{seeds}"]
        if mutant in (*PRODUCER_MUTANTS, *AIO_PRODUCER_MUTANTS):
            command.append("--producer")
        if mutant in (*AIO_MUTANTS, *AIO_PRODUCER_MUTANTS):
            command.append("--aio")
        command += ["--first", "--once"]
        pure = {"KCTL_PURE": "1"} if any("/_hot/" in path for path, _, _ in mutant.replacements) else {}
        done = subprocess.run(command, cwd=root, env=os.environ | pure, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ""
        lines = [line for line in done.stdout.splitlines() if line.startswith("SIM FAIL")]
        return lines[0] if lines else f"no run at all: {done.stderr[-500:]}"


def hunt(names: list[str], *, seeds: int, jobs: int) -> int:
    """Hunt these mutants, or all; print what found each and return 1 when one lives on."""
    wanted = [mutant for mutant in ALL if not names or mutant.name in names]
    alive = 0
    with ThreadPoolExecutor(jobs) as pool:
        found: Iterator[str] = pool.map(partial(hunt_one, seeds), wanted)
        for mutant, line in zip(wanted, found, strict=True):
            is_found = line.startswith("SIM FAIL")
            alive += not is_found
            sys.stdout.write(f"{mutant.name:42} {line[:150] if line else f'NOT FOUND in {seeds} seeds'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(wanted)} mutants, {alive} not found\n")
    return int(alive > 0)
