"""`kctl pipeline` on pseudo-terminals, as far as it goes without Spark: plans and reports fit, the bar leaves nothing.

The bar of a job that runs on Spark: tests/pipeline/test_job_terminal.py.
"""

from pathlib import Path
from random import Random

import pytest

from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import BOUND_S, kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.unit.pipeline.report.fleets import NodeTruth, probe_lines, write

LONG = "kafka-1.production.eu-central.example.internal:9093"
NARROW, USUAL, WIDE = 40, 80, 200


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    for number, place in enumerate(("berlin", "sydney")):
        nodes = [NodeTruth(LONG), NodeTruth("flapping:9092", is_up=lambda each: each // 4 % 3 > 0)]
        write(folder / place / "probed.jsonl", probe_lines(nodes, Random(number), 1500))
    return folder


def _shown(*arguments: str, columns: int, environ: dict[str, str] | None = None) -> str:
    """Return all that came to a terminal, painted over or not."""
    with Terminal("pipeline", *arguments, columns=columns, with_stderr=True, environ=environ) as terminal:
        shown = terminal.read_all().decode()
        assert terminal.process.wait(BOUND_S) == 0
    return shown


def _lines(shown: str) -> list[str]:
    return Screen().show(shown)


@pytest.mark.parametrize("columns", [NARROW, USUAL, WIDE])
def test_a_report_fits_and_its_progress_is_gone(fleet: Path, columns: int) -> None:
    shown = _shown("report", str(fleet), columns=columns)
    lines = _lines(shown)
    assert max(map(len, lines)) <= columns
    assert "reading" in shown
    assert not any("reading" in line for line in lines)
    assert lines[0].startswith("2 files, 6000 lines, 2 places")
    assert LONG in "".join(line.strip() for line in lines)
    assert any(line.startswith("NODE ") for line in lines) == (columns == WIDE)


def test_a_report_in_a_pipe_is_neither_cut_nor_painted(fleet: Path) -> None:
    ended = kctl("pipeline", "report", str(fleet), environ={"COLUMNS": str(NARROW)})
    assert max(map(len, ended.stdout.decode().splitlines())) > USUAL
    assert "\x1b" not in ended.stdout.decode() + ended.stderr
    assert ended.stderr.startswith("kctl pipeline: reading: ")
    assert kctl("pipeline", "report", str(fleet), "-q").stderr == ""


def test_quiet_and_without_colour(fleet: Path) -> None:
    assert "reading" not in _shown("report", str(fleet), "-q", columns=USUAL)
    painted = _shown("report", str(fleet), columns=USUAL, environ={"NO_COLOR": "1"})
    assert "reading" in painted
    assert "\x1b[2m" not in painted
    assert "\x1b" not in _shown("report", str(fleet), columns=USUAL, environ={"TERM": "dumb"})


@pytest.mark.parametrize("columns", [NARROW, USUAL, WIDE])
def test_plans_fit(cluster: ServedSandbox, topic: str, fleet: Path, tmp_path: Path, columns: int) -> None:
    fill(cluster.bootstrap, topic, {0: 40, 1: 20})
    target = f"{topic}-{'copy-' * 20}"
    cluster.sandbox.create_topic(target, partitions=3)
    to = (target, "-b", cluster.bootstrap, "--dry-run")
    for arguments, wanted in (
        (("export", topic, "--to", str(tmp_path / "x"), *to[1:]), "offsets"),
        (("mirror", topic, "--to-topic", *to), "offsets"),
        (("verify", topic, "--to-topic", *to), "records"),
        (("report", str(fleet), "--dry-run"), "bytes"),
    ):
        lines = _lines(_shown(*arguments, "-q", columns=columns))
        assert max(map(len, lines)) <= columns, arguments
        is_table = any(wanted.upper() in line for line in lines)
        assert is_table or any(line.startswith(f"{wanted} ") for line in lines), lines
        assert is_table or columns != WIDE, lines
    in_a_pipe = kctl("pipeline", "export", topic, "--to", str(tmp_path / "x"), *to[1:], environ={"COLUMNS": "40"})
    assert in_a_pipe.stdout.startswith(b"TOPIC ")
