"""A seed is a run: the same in another process with another PYTHONHASHSEED, and another for another seed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sim.hub.replay_run import trace_hash

_ROOT = Path(__file__).parents[3]


def _elsewhere(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.sim.hub.replay_run", str(seed)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_equal_in_other_processes() -> None:
    assert trace_hash(11) == _elsewhere(11, "1") == _elsewhere(11, "4242")


def test_each_seed_is_another_run() -> None:
    hashes = [trace_hash(seed) for seed in range(10)]
    assert len(dict.fromkeys(hashes)) == 10
    assert hashes == [trace_hash(seed) for seed in range(10)]
