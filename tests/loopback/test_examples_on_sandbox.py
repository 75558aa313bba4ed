"""The programs in examples/ on the sandbox."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.sandbox import ClusterSettings, Sandbox
from tests.support.bounds import bound
from tests.support.example_runs import Place, in_every_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    settings = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
    with Sandbox(nodes=3, settings=settings).serve() as served:
        yield served.bootstrap


@in_every_run
def test_example_runs_on_the_sandbox(run: Callable[[Place], None], servers: str, tmp_path: Path) -> None:
    run(Place(servers, run.__name__, tmp_path))


def test_example_of_tests_passes_as_a_user_runs_it() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "examples/test_orders.py"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=bound(120), check=False)
    assert ended.returncode == 0, ended.stdout
    assert "3 passed" in ended.stdout
