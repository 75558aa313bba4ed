"""`kctl pipeline` on pseudo-terminals, as far as it goes without Spark: plans fit.

The bar of a job that runs on Spark: tests/pipeline/test_job_terminal.py.
"""

from pathlib import Path

import pytest

from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import BOUND_S, HAS_SPARK, kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal

NARROW, USUAL, WIDE = 40, 80, 200


def _shown(*arguments: str, columns: int, environ: dict[str, str] | None = None) -> str:
    """Return all that came to a terminal, painted over or not."""
    with Terminal("pipeline", *arguments, columns=columns, with_stderr=True, environ=environ) as terminal:
        shown = terminal.read_all().decode()
        assert terminal.process.wait(BOUND_S) == 0
    return shown


def _lines(shown: str) -> list[str]:
    return Screen().show(shown)


@pytest.mark.parametrize("columns", [NARROW, pytest.param(USUAL, marks=pytest.mark.nightly), WIDE])
def test_plans_fit(cluster: ServedSandbox, topic: str, tmp_path: Path, columns: int) -> None:
    fill(cluster.bootstrap, topic, {0: 40, 1: 20})
    target = f"{topic}-{'copy-' * 20}"
    cluster.sandbox.create_topic(target, partitions=3)
    to = (target, "-b", cluster.bootstrap, "--dry-run")
    for arguments, wanted in (
        (("export", topic, "--to", str(tmp_path / "x"), *to[1:]), "offsets"),
        (("mirror", topic, "--to-topic", *to), "offsets"),
        (("verify", topic, "--to-topic", *to), "records"),
    ):
        lines = _lines(_shown(*arguments, "-q", columns=columns))
        assert max(map(len, lines)) <= columns, arguments
        is_table = any(wanted.upper() in line for line in lines)
        assert is_table or any(line.startswith(f"{wanted} ") for line in lines), lines
        assert is_table or columns != WIDE, lines
    in_a_pipe = kctl("pipeline", "export", topic, "--to", str(tmp_path / "x"), *to[1:], environ={"COLUMNS": "40"})
    assert in_a_pipe.stdout.startswith(b"TOPIC ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "t", "--to", "x", "--dry-run"),
        ("verify", "t", "--to-topic", "u", "--dry-run"),
        ("mirror", "t", "--to-topic", "u", "--dry-run"),
        pytest.param(
            ("mirror", "t", "--to-topic", "u"), marks=pytest.mark.skipif(not HAS_SPARK, reason="jobs need pyspark")
        ),
    ],
    ids=" ".join,
)
def test_planning_reports_what_it_waits_for(arguments: tuple[str, ...], silent: str) -> None:
    with Terminal("pipeline", *arguments, "-b", silent, columns=WIDE, with_stderr=True) as terminal:
        waiting = (
            f"kctl pipeline: waiting: {silent}: no response to ApiVersions, retrying for up to 60s (--api-timeout)"
        )
        shown = terminal.read_until(waiting.encode()).decode()
    assert ("planning" in shown) == ("--dry-run" not in arguments), "a job has a status line, which makes room"
