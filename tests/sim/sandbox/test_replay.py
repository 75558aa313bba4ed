"""A seed is a run, with brokers and faults too: equal in another process with another PYTHONHASHSEED."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.sandbox.replay_run import trace_hash

_ROOT = Path(__file__).parents[3]


def _elsewhere(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.sim.sandbox.replay_run", str(seed)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_equal_in_other_processes() -> None:
    assert trace_hash(21) == _elsewhere(21, "1") == _elsewhere(21, "4242")


@pytest.mark.slow
def test_each_seed_is_another_run() -> None:
    hashes = [trace_hash(seed) for seed in range(5)]
    assert len(dict.fromkeys(hashes)) == 5
    assert hashes == [trace_hash(seed) for seed in range(5)]
