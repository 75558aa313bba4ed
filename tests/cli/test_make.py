"""`make test` runs every tier whatever fails, and ends with a list of the tiers that failed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEED_PYTEST = ["unit", "sim-calls", "sim-chaos", "sim-hostile", "fuzz", "broker", "cli", "conformance"]
NEED_PYTEST += ["pipeline-jobs", "faultlab", "docs", "loopback"]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")

PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >> "$LOG"
case "$*" in *"$BREAKS"*) exit 3;; esac
case "$*" in *build_packages*) mkdir -p dist;; esac
case "$*" in "-m venv "*) mkdir -p "$3/bin"; ln -s "$(readlink -f "$0")" "$3/bin/python";; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile, and an environment whose programs only note how they were called."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (
        "kctl/x.py", "man/x", "completions/x", "tools/build_packages.py", "tools/test_versions.sh",
        "tools/build_binary.py", "tools/build_deb.py", "tools/bill_of_materials.py", "tools/binary.spec",
        "tools/binary_start.py", "tools/channels.py", "requirements/release.txt", "pyproject.toml", "setup.py",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "MANIFEST.in").touch()
    (tmp_path / "tools/test_versions.sh").chmod(0o755)
    shutil.copy(ROOT / "tools/progress.sh", tmp_path / "tools")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "ruff", "mypy", "lint-imports", "apt-get"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    for mark in (".installed", ".ready"):
        (tmp_path / ".venv" / mark).touch()
    return tmp_path


def surroundings(project: Path) -> dict[str, str]:
    """Return variables by which neither the cache nor the packages of this machine change."""
    return {"KCTL_CACHE": str(project / "cache"), "PATH": f"{project / '.venv' / 'bin'}:{os.environ['PATH']}"}


def make(project: Path, target: str, breaks: str) -> tuple[int, list[str], list[str]]:
    """Return exit code, lines of output and the calls of programs. A program that is called with `breaks` fails."""
    log = project / "log"
    log.touch()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "SCOPE"))
    }
    done = subprocess.run(
        ["make", target, f"PYTHON={project}/.venv/bin/python"],
        cwd=project,
        env={**environment, "LOG": str(log), "BREAKS": breaks, **surroundings(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines(), log.read_text().splitlines()


def test_make_test_with_all_tiers_passing_says_so(project: Path) -> None:
    code, lines, calls = make(project, "test", "nothing breaks")
    assert (code, lines[-1]) == (0, "all tiers passed")
    for folder in ("unit", "sim", "fuzz", "broker", "conformance", "faultlab", "docs", "loopback", "cli"):
        (call,) = (each for each in calls if each.endswith(f"tests/{folder}"))
        assert "-m not nightly --hypothesis-profile=test" in call


def test_make_nightly_runs_each_tier_whole(project: Path) -> None:
    code, lines, calls = make(project, "nightly", "nothing breaks")
    assert (code, lines[-1]) == (0, "all tiers passed")
    for folder in (
        "unit", "sim", "fuzz", "broker", "conformance", "soak_lakes", "foreign", "cli",
        "packages", "binary", "release",
    ):  # fmt: skip
        (call,) = (each for each in calls if each.endswith(f"tests/{folder}"))
        assert "--hypothesis-profile=nightly" in call
        assert "-m not" not in call


@pytest.mark.parametrize(
    ("breaks", "failed"),
    [
        ("=test tests/unit", ["unit"]),
        ("=test tests/broker", ["broker"]),
        ("tests.sim run", ["sim-seeds"]),
        ("pytest -q", NEED_PYTEST),
    ],
)
def test_make_test_runs_the_other_tiers_and_lists_those_that_failed(
    project: Path, breaks: str, failed: list[str]
) -> None:
    _, _, calls_without_failure = make(project, "test", "nothing breaks")
    (project / "log").unlink()
    code, lines, calls = make(project, "test", breaks)
    assert code != 0
    listed = next(line for line in lines if line.startswith("failed tiers: "))
    assert sorted(listed.removeprefix("failed tiers: ").split()) == sorted(failed)
    assert "all tiers passed" not in lines
    unbroken = [call for call in calls_without_failure if re.search(r"tests/(docs|loopback|conformance)$", call)]
    assert set(unbroken) <= set(calls)


def test_make_nightly_without_packages_fails_the_tiers_that_need_them(project: Path) -> None:
    code, lines, _ = make(project, "nightly", "build_packages")
    assert code != 0
    assert "failed tiers: artifacts dist installed" in lines


def test_tier_that_fails_is_not_run_again(project: Path) -> None:
    code, lines, calls = make(project, "test", "tests/broker")
    assert code != 0
    assert "failed tiers: broker" in lines
    assert len([call for call in calls if call.endswith("tests/broker")]) == 1


@pytest.mark.parametrize("target", ["check", "test"])
def test_each_half_of_sim_is_run_once(project: Path, target: str) -> None:
    code, _, calls = make(project, target, "nothing breaks")
    (chaos,) = [call for call in calls if call.endswith("tests/sim/chaos tests/sim/chaos_producer tests/sim/producer")]
    (rest,) = [call for call in calls if call.endswith(" tests/sim")]
    assert code == 0
    assert "--ignore" not in chaos
    for folder in ("chaos", "chaos_producer", "producer"):
        assert f"--ignore=tests/sim/{folder} " in rest
    assert f"not nightly --hypothesis-profile={target}" in rest


def test_slow_step_prints_progress_until_it_exits(project: Path) -> None:
    """The lines come while the step runs: it ends after the second one."""
    os.mkfifo(project / "end")
    step = ["sh", str(project / "tools/progress.sh"), "installing", "sh", "-c", "read line < end; exit $line"]
    with subprocess.Popen(step, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines == ["installing\n", "  4 s: installing\n", "  8 s: installing\n"]
        (project / "end").write_text("5\n")
        assert process.stdout.read() == ""
    assert process.returncode == 5


def test_make_run_begins_with_a_line_about_its_first_step(project: Path) -> None:
    """An environment takes seconds; nothing is made before the first line."""
    shutil.rmtree(project / ".venv")
    (project / "python").write_text(PROGRAM)
    (project / "python").chmod(0o755)
    (project / "tools/first_run.sh").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= {"LOG": str(project / "log"), "BREAKS": "nothing breaks"}
    done = subprocess.run(
        ["make", "run", f"PYTHON={project}/python"], cwd=project, env=environment, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0]) == (0, "creating .venv"), done.stderr
    assert lines[1].startswith("installing kctl in .venv: ")


def test_make_check_still_fails_at_once(project: Path) -> None:
    code, lines, _ = make(project, "check", "--hypothesis-profile=check tests/unit")
    assert code != 0
    assert not any("failed tiers" in line for line in lines)
