"""`kctl pipeline` without Spark: mistakes are told before anything is dialled or started, and a plan needs neither.

With Spark: tests/pipeline.
"""

import importlib.util
import json
import re
import socket
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin, NewTopic
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.job_errors import SparkMissingError
from kctl.pipeline.jobs.mirror_positions import (
    MirrorPosition,
    MirrorTarget,
    create_positions_topic,
    kept_positions,
    position_key,
)
from kctl.pipeline.jobs.mirror_task import choose_positions
from kctl.pipeline.resume_point import ResumePoint
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import HAS_SPARK, kctl


def test_page_that_cannot_be_written_ends_stats_before_its_work(tmp_path: Path) -> None:
    """Its work would be to connect, for --api-timeout."""
    for path, why in ((tmp_path / "absent" / "x.html", "No such file or directory"), (tmp_path, "Is a directory")):
        ended = kctl("pipeline", "stats", "t", "--html", str(path), "-b", "127.0.0.1:1")
        assert (ended.code, ended.stderr) == (ExitCode.USAGE, f"kctl pipeline: --html {path}: {why}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "t"), "Missing option '--to'"),
        (("export", "a/b", "--to", "x"), "'a/b' is not a topic name"),
        (("export", "t", "--to", "x", "--range-size", "64"), "'64' has no unit"),
        (("export", "t", "--to", "x", "--range-size", "0B"), "must have at least 1 byte"),
        (("export", "t", "--to", "x", "--start", "then"), "'then' is not one of earliest, latest"),
        (("export", "t", "--to", "x", "--interval", "1s"), "--interval needs --continuous"),
        (("sync", "t", "--to", "x", "--start", "end"), "'end' is not one of earliest, latest"),
        (("sync", "t", "--to", "x", "--available-now", "--trigger", "1s"), "--trigger cannot be combined with"),
        (("sync", "t", "--to", "delta:/x", "-b", "a:1", "--dry-run"), "needs --checkpoint with a directory"),
        (("export", "t", "--to", "x", "--master", "mesos://m:5050"), "'mesos://m:5050' is not a Spark master: use"),
        (("stats", "t", "--remote", "spark://a:1"), "invalid remote 'spark://a:1': use sc://HOST:PORT"),
        (("stats", "t", "--remote", "sc://a", "--master", "local"), "--remote and --master exclude each other"),
        (("export", "t", "--to", "x", "--spark-conf", "memory=1g"), "'memory=1g' is not in the form spark.KEY=VALUE"),
        (
            ("export", "t", "--to", "x", "--spark-conf", "spark.hadoop.fs.s3a.secret.key=canary"),
            "spark.hadoop.fs.s3a.secret.key is a secret",
        ),
        (("stats", "t", "--spark-conf", "spark.ssl.keyPassword=canary"), "spark.ssl.keyPassword is a secret"),
        (
            ("export", "t", "--to", "x", "--file-format", "csv", "--dry-run", "-b", "a:1"),
            "Invalid value for '--file-format': 'csv' is not one of parquet, json",
        ),
        (
            ("export", "t", "--to", "x", "--layout", "year", "--dry-run", "-b", "a:1"),
            "Invalid value for '--layout': 'year' is not one of topic, date, hour",
        ),
        (
            ("export", "t", "--to", "x", "--layout", "date", "--partition-by", "hour"),
            "Choose --layout or --partition-by",
        ),
        (("export", "t", "--to", ""), "Invalid value for '--to': the path is empty"),
        (("import", ""), "Invalid value for 'LOCATION': the path is empty"),
        (("verify", "t", "--to-export", ""), "Invalid value for '--to-export': the path is empty"),
        (("import", "x", "--master", "local[two]"), "'local[two]' is not a Spark master: use local,"),
        (("import", "x", "--master", "local[0]"), "'local[0]' is not a Spark master: use local,"),
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
    assert "dry run: would export 60 offsets (about " in ended.stderr
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


def test_import_plan_lists_the_groups_and_export_takes_the_earlier_words_of_start(
    cluster: ServedSandbox, topic: str, tmp_path: Path
) -> None:
    fill(cluster.bootstrap, topic, {0: 4})
    facts = ClusterFacts({topic: TopicFacts(3, {})}, {"app": {topic: {0: 2, 1: 0}}, "other": {topic: {0: 1}}})
    manifest = Manifest(1, {"format": "parquet", "layout": "topic"}, (ExportedRange(topic, 0, 0, 4, 4, ()),), 1, facts)
    (tmp_path / MANIFESTS).mkdir()
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(manifest))
    planning = ("pipeline", "import", str(tmp_path), "-b", cluster.bootstrap, "--dry-run", "--keep-partitions")
    planned = kctl(*planning, "--groups", "app", "--output", "json")
    assert planned.code == ExitCode.OK, planned.stderr
    assert json.loads(planned.stdout)["groups"] == [
        {"group": "app", "topic": topic, "partition": number, "source_offset": at} for number, at in ((0, 2), (1, 0))
    ]
    assert f"group app would continue with the records at these exported offsets: {topic}-0 at 2" in planned.stderr
    exporting = ("pipeline", "export", topic, "--to", str(tmp_path / "new"), "-b", cluster.bootstrap, "--dry-run")
    for word in ("end", "latest"):
        planned = kctl(*exporting, "--start", word, "--output", "json")
        assert json.loads(planned.stdout)["rows"] == []


def test_names_and_configs_of_an_export_stay_in_their_line(cluster: ServedSandbox, topic: str, tmp_path: Path) -> None:
    group, configs = "a\x1b[2J\nkctl: b", {"retention.ms": "1\nkctl: c"}
    facts = ClusterFacts({topic: TopicFacts(3, configs)}, {group: {topic: {0: 2}}})
    manifest = Manifest(1, {"format": "parquet", "layout": "topic"}, (ExportedRange(topic, 0, 0, 4, 4, ()),), 1, facts)
    (tmp_path / MANIFESTS).mkdir()
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(manifest))
    planning = ("pipeline", "import", str(tmp_path), "-b", cluster.bootstrap, "--dry-run", "--keep-partitions")
    planned = kctl(*planning, "--groups", r"/a(.|\s)*/", "--create", "--to-topic", f"{topic}-new")
    assert planned.code == ExitCode.OK, planned.stderr
    assert "with 3 partitions and retention.ms=1\\x0akctl: c\n" in planned.stderr
    assert "kctl pipeline: dry run: group a\\x1b[2J\\x0akctl: b would continue " in planned.stderr


@pytest.mark.skipif(not HAS_SPARK, reason="jobs need pyspark, which is not beside the kctl that is run")
def test_import_reports_with_which_configs_it_created_topics(
    cluster: ServedSandbox, topic: str, tmp_path: Path
) -> None:
    facts = ClusterFacts({topic: TopicFacts(3, {"retention.ms": "3600000", "no.such": "1\nkctl: x"})})
    manifest = Manifest(1, {"format": "parquet", "layout": "topic"}, (), 1, facts)  # without records no Spark is needed
    (tmp_path / MANIFESTS).mkdir()
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(manifest))
    arguments = ("pipeline", "import", str(tmp_path), "-b", cluster.bootstrap)
    ended = kctl(*arguments, "--to-topic", f"{topic}-new", "--create", "--output", "json")
    assert ended.code == ExitCode.PARTIAL_FAILURE, ended.stderr
    assert f"topic {topic}-new created with 3 partitions and no.such=1\\x0akctl: x, retention.ms=" in ended.stderr
    assert f"cannot set config no.such=1\\x0akctl: x of topic {topic}-new: " in ended.stderr
    result = json.loads(ended.stdout)
    assert result["created"] == [f"{topic}-new"]
    assert [each["partitions"] for each in result["created_topics"]] == [3]


def test_restart_is_not_chosen_before_spark_runs(cluster: ServedSandbox, topic: str) -> None:
    """The position of an earlier run stays where the set-up of Spark fails, so that the next run repeats nothing."""
    pytest.importorskip("numpy")  # its import adds filters of warnings, which the check of the process would find
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
    assert kept_positions(given) == {position_key(target, 0): MirrorPosition(ResumePoint(4), "")}


def test_mirror_with_earlier_positions_says_which_package_it_lacks(
    cluster: ServedSandbox, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cluster.bootstrap, topic, {0: 4})
    given = {"bootstrap.servers": cluster.bootstrap}
    with Admin(given) as admin:
        admin.create_topics([NewTopic(f"{topic}-copy", 3)]).raise_first()
        create_positions_topic(admin)
    target = MirrorTarget(f"{topic}-copy", f"kctl-mirror.m.{topic}")
    choose_positions(given, target, {0: MirrorPosition(ResumePoint(0), "")})
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name))
    with pytest.raises(SparkMissingError, match="jobs need pyarrow, which is not installed"):
        kept_positions(given)


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


@pytest.mark.process  # Java is looked for in the $PATH of the process
def test_missing_package_is_reported_with_how_to_install_it(refused: str, tmp_path: Path) -> None:
    ended = kctl(
        *("pipeline", "export", "t", "--to", str(tmp_path / "x"), "-b", refused),
        environ={"PATH": "/nonexistent", "JAVA_HOME": ""},
    )
    assert ended.code == ExitCode.USAGE
    missing = "Java 17" if HAS_SPARK else "pyspark"
    assert f"jobs need {missing}" in ended.stderr
    assert "hint: " in ended.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not HAS_SPARK, reason="types of columns need pyarrow, which is not beside the kctl that is run")
def test_column_that_cannot_partition_an_export_is_rejected_by_the_plan(
    cluster: ServedSandbox, topic: str, tmp_path: Path
) -> None:
    fill(cluster.bootstrap, topic, {0: 4})
    planning = ("pipeline", "export", topic, "--to", str(tmp_path / "x"), "-b", cluster.bootstrap, "--dry-run")
    ended = kctl(*planning, "--partition-by", "hour(value)")
    assert ended.code == ExitCode.USAGE
    assert " by hour(value): value is not a timestamp" in ended.stderr
    for field in ("hour(timestamp)", "partition", "day"):
        assert kctl(*planning, "--partition-by", field).code == ExitCode.OK
