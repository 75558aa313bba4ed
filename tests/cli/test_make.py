"""`make test` runs every tier whatever fails, and ends with a list of the tiers that failed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEED_PYTEST = ["unit", "sim", "fuzz", "broker", "installed", "conformance", "pipeline-jobs", "faultlab", "packages"]
NEED_PYTEST += ["pipeline-source", "docs", "loopback"]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")

PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >> "$LOG"
case "$*" in *"$BREAKS"*) exit 3;; esac
case "$PYTEST_ADDOPTS:$*" in *--last-failed*) ;; *:*" $BREAKS_ONCE"*) exit 3;; esac
case "$*" in *build_packages*) mkdir -p dist;; esac
case "$*" in "-m venv "*) mkdir -p "$3/bin"; ln -s "$(readlink -f "$0")" "$3/bin/python";; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile, and an environment whose programs only note how they were called."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("kctl/x.py", "man/x", "completions/x", "tools/build_packages.py", "pyproject.toml", "setup.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "MANIFEST.in").touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    for mark in (".installed", ".ready"):
        (tmp_path / ".venv" / mark).touch()
    return tmp_path


def make(
    project: Path, target: str, breaks: str, breaks_once: str = "nothing breaks once"
) -> tuple[int, list[str], list[str]]:
    """Return exit code, lines of output and the calls of programs.

    What is called with `breaks` in it fails, with `breaks_once` only where it is not told to run what failed before.
    """
    log = project / "log"
    log.touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", target, f"PYTHON={project}/.venv/bin/python"],
        cwd=project,
        env={**environment, "LOG": str(log), "BREAKS": breaks, "BREAKS_ONCE": breaks_once},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines(), log.read_text().splitlines()


def test_make_test_with_all_tiers_passing_says_so(project: Path) -> None:
    code, lines, calls = make(project, "test", "nothing breaks")
    assert (code, lines[-1]) == (0, "all tiers passed")
    for folder in ("unit", "sim", "fuzz", "broker", "conformance", "faultlab", "packages", "docs", "loopback", "cli"):
        assert any(call.endswith(f"tests/{folder}") for call in calls), folder


@pytest.mark.parametrize(
    ("breaks", "failed"),
    [
        ("pytest -q tests/unit", ["unit"]),
        ("pytest -q tests/broker", ["broker"]),
        ("tests.sim run", ["sim-seeds"]),
        ("pytest -q", NEED_PYTEST),
        ("build_packages", ["dist", "installed", "packages"]),
    ],
)
def test_make_test_runs_the_other_tiers_and_lists_those_that_failed(
    project: Path, breaks: str, failed: list[str]
) -> None:
    _, _, calls_without_failure = make(project, "test", "nothing breaks")
    (project / "log").unlink()
    shutil.rmtree(project / "dist")
    code, lines, calls = make(project, "test", breaks)
    assert code != 0
    listed = next(line for line in lines if line.startswith("failed tiers: "))
    assert sorted(listed.removeprefix("failed tiers: ").split()) == sorted(failed)
    assert "all tiers passed" not in lines
    unbroken = [call for call in calls_without_failure if re.search(r"tests/(docs|loopback|conformance)$", call)]
    assert set(unbroken) <= set(calls)


def test_tier_that_fails_once_beside_another_is_run_again_alone_and_named(project: Path) -> None:
    code, lines, calls = make(project, "test", "nothing breaks", "tests/broker")
    assert code == 0
    assert "all tiers passed" in lines
    assert "broker: UNSTABLE: what failed beside other tiers passed alone (second run)" in lines
    assert len([call for call in calls if call.endswith("tests/broker")]) == 2


def test_tier_that_fails_three_times_has_failed(project: Path) -> None:
    code, lines, calls = make(project, "test", "tests/broker")
    assert code != 0
    assert "failed tiers: broker" in lines
    assert len([call for call in calls if call.endswith("tests/broker")]) == 3


FAILS_ONCE = """
from pathlib import Path

def test_passes():
    with Path("passed").open("a") as file:
        file.write("x")

def test_fails_once():
    if not Path("failed").exists():
        Path("failed").touch()
        assert False
"""


def test_failed_tests_of_a_tier_of_four_processes_are_run_again_in_one(project: Path) -> None:
    _, _, calls = make(project, "test", "nothing breaks", "tests/cli")
    first, second = [call for call in calls if call.endswith("tests/cli")]
    assert "-n 4" in first
    assert "-n" not in second.split()


def test_only_the_failed_tests_of_a_tier_are_run_again(project: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", project)
    (project / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for mark in (".installed", ".ready"):
        (project / ".venv" / mark).touch()
    (project / "build" / "failed-tiers").mkdir(parents=True)
    (project / "tests" / "loopback").mkdir(parents=True)
    (project / "tests" / "loopback" / "test_once.py").write_text(FAILS_ONCE)
    _, lines, _ = make(project, "attempt-loopback", "nothing breaks")
    assert "1 failed, 1 passed" in "\n".join(lines)
    _, lines, _ = make(project, "again-loopback", "nothing breaks")
    assert "loopback: UNSTABLE: what failed beside other tiers passed alone (second run)" in lines
    assert (project / "passed").read_text() == "x"


def test_quick_tier_that_fails_once_is_not_run_again(project: Path) -> None:
    code, lines, _ = make(project, "test", "nothing breaks", "tests/sim")
    assert code != 0
    assert "failed tiers: sim" in lines


def test_make_check_runs_each_half_of_sim_once(project: Path) -> None:
    code, _, calls = make(project, "check", "nothing breaks")
    (chaos,) = [call for call in calls if call.endswith("tests/sim/chaos tests/sim/chaos_producer tests/sim/producer")]
    (rest,) = [call for call in calls if call.endswith(" tests/sim")]
    assert code == 0
    assert "--ignore" not in chaos
    for folder in ("chaos", "chaos_producer", "producer"):
        assert f"--ignore=tests/sim/{folder} " in rest
    assert '-m "not slow"' in rest or "-m not slow" in rest


def test_make_check_still_fails_at_once(project: Path) -> None:
    code, lines, _ = make(project, "check", "not slow --hypothesis-profile=quick tests/unit")
    assert code != 0
    assert not any("failed tiers" in line for line in lines)
