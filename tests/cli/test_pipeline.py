"""`kctl pipeline` without Spark: mistakes are told before anything is dialled or started, and a plan needs neither.

With Spark: tests/pipeline.
"""

import json
import re
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin, NewTopic
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, create_positions_topic
from kctl.pipeline.jobs.mirror_task import choose_positions
from kctl.pipeline.resume_point import ResumePoint
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import INSTALLED, kctl


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "t"), "Missing option '--to'"),
        (("export", "a/b", "--to", "x"), "'a/b' is not the name of a topic"),
        (("export", "t", "--to", "x", "--range-size", "64"), "'64' has no unit"),
        (("export", "t", "--to", "x", "--range-size", "0B"), "at least a byte"),
        (("export", "t", "--to", "x", "--start", "then"), "'then' is none of start, end"),
        (("export", "t", "--to", "x", "--interval", "1s"), "--interval is for --continuous"),
        (("export", "t", "--to", "x", "--master", "yarn"), "'yarn' is none of local, local[2]"),
        (("export", "t", "--to", "x", "--spark-conf", "memory=1g"), "'memory=1g' is not spark.KEY=VALUE"),
        (
            ("export", "t", "--to", "x", "--file-format", "csv", "--dry-run", "-b", "a:1"),
            "Invalid value for '--file-format': 'csv' is none of parquet, json",
        ),
        (
            ("export", "t", "--to", "x", "--layout", "year", "--dry-run", "-b", "a:1"),
            "Invalid value for '--layout': 'year' is none of topic, date, hour",
        ),
        (("export", "t", "--to", ""), "Invalid value for '--to': an empty path"),
        (("import", ""), "Invalid value for 'LOCATION': an empty path"),
        (("verify", "t", "--to-export", ""), "Invalid value for '--to-export': an empty path"),
        (("import", "x", "--master", "local[two]"), "'local[two]' is none of local"),
        (("import", "x", "--master", "local[0]"), "'local[0]' is none of local"),
        (("import", "/nonexistent", "--dry-run", "-b", "a:1"), "/nonexistent is not an export: it has no manifest"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], words: str) -> None:
    ended = kctl("pipeline", *arguments)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert words in ended.stderr.replace("\n", " ")


def test_a_plan_needs_no_spark_and_writes_nothing(cluster: ServedSandbox, topic: str, tmp_path: Path) -> None:
    fill(cluster.bootstrap, topic, {0: 40, 1: 20})
    folder = tmp_path / "x"
    arguments = ("pipeline", "export", topic, "--to", str(folder), "-b", cluster.bootstrap, "--dry-run")
    ended = kctl(*arguments, "--master", "local[4]", "--output", "json", environ={"PATH": "/nonexistent"})
    assert ended.code == 0, ended.stderr
    rows = json.loads(ended.stdout)["rows"]
    assert [(row["partition"], row["start"], row["end"]) for row in rows] == [(0, 0, 40), (1, 0, 20)]
    assert sum(row["tasks"] for row in rows) >= 4
    assert all(row["bytes"] > row["offsets"] for row in rows)
    assert "dry run, nothing was written: 60 offsets, about " in ended.stderr
    assert not folder.exists()


@pytest.mark.parametrize("folder", ["/proc/nothing", "link", "other"])
def test_plan_for_a_folder_that_cannot_be_made_is_refused_as_a_run_is(
    cluster: ServedSandbox, topic: str, tmp_path: Path, folder: str
) -> None:
    fill(cluster.bootstrap, topic, {0: 4})
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    to = str(tmp_path / folder)
    ended = kctl("pipeline", "export", topic, "--to", to, "-b", cluster.bootstrap, "--dry-run")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert to in ended.stderr.replace("\n", "")


def test_restart_is_not_chosen_before_spark_runs(cluster: ServedSandbox, topic: str) -> None:
    """The position of an earlier run stays where the set-up of Spark fails, so that the next run repeats nothing."""
    fill(cluster.bootstrap, topic, {0: 4})
    given = {"bootstrap.servers": cluster.bootstrap}
    with Admin(given) as admin:
        admin.create_topics([NewTopic(f"{topic}-copy", 3)]).raise_first()
        create_positions_topic(admin)
    fill(cluster.bootstrap, f"{topic}-copy", {0: 4})
    target = MirrorTarget(f"{topic}-copy", f"kctl-mirror.m.{topic}")
    choose_positions(given, target, {0: MirrorPosition(ResumePoint(4), "")})
    arguments = ("pipeline", "mirror", topic, "-b", cluster.bootstrap, "--to-bootstrap", cluster.bootstrap)
    mirror = (*arguments, "--to-topic", target.topic, "--name", "m")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        ended = kctl(*mirror, "--restart", "--master", f"spark://127.0.0.1:{bound.getsockname()[1]}")
    assert ended.code == ExitCode.USAGE, ended.stderr
    planned = kctl(*mirror, "--dry-run", "--output", "json")
    assert planned.code == ExitCode.OK, planned.stderr
    assert json.loads(planned.stdout)["rows"] == []


def test_a_pattern_that_matches_nothing(cluster: ServedSandbox, tmp_path: Path) -> None:
    ended = kctl("pipeline", "export", "/nope-.*/", "--to", str(tmp_path / "x"), "-b", cluster.bootstrap, "--dry-run")
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert re.search(r"no topic matches .*nope-\.\*", ended.stderr)
    assert not (tmp_path / "x").exists()


def test_a_dead_broker_is_told_by_its_limit_before_spark_starts(refused: str, tmp_path: Path) -> None:
    arguments = ("pipeline", "export", "t", "--to", str(tmp_path / "x"), "-b", refused, "--api-timeout", "1s")
    ended = kctl(*arguments, "--dry-run")
    assert (ended.code, ended.stdout) == (ExitCode.REFUSED, b"")
    # what planning left of the second
    assert re.search(r"timed out after \S+ \(--api-timeout( 9\d\dms| 1s)?\) while", ended.stderr)
    assert "refused" in ended.stderr


def test_mirror_plan_fails_fast_while_the_target_refuses(bootstrap: str, topic: str, refused: str) -> None:
    ended = kctl("pipeline", "mirror", topic, "-b", bootstrap, "--to-bootstrap", refused, "--dry-run")
    assert (ended.code, ended.stdout) == (ExitCode.REFUSED, b"")
    assert f"no bootstrap server accepted a connection for 5s: {refused}: connection refused" in ended.stderr


def test_missing_package_is_reported_with_how_to_install_it(refused: str, tmp_path: Path) -> None:
    ended = kctl(
        *("pipeline", "export", "t", "--to", str(tmp_path / "x"), "-b", refused),
        environ={"PATH": "/nonexistent", "JAVA_HOME": ""},
    )
    assert ended.code == ExitCode.USAGE
    missing = "Java 17" if find_spec("pyspark") and not INSTALLED else "pyspark"
    assert f"jobs need {missing}" in ended.stderr
    assert "hint: " in ended.stderr
    assert not (tmp_path / "x").exists()
