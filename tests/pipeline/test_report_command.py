"""`kctl pipeline report` as whole processes: files that kctl itself wrote, Spark and no Spark alike, exit codes."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.processes import kctl
from tests.pipeline.copies import run_job
from tests.unit.pipeline.report.fleets import NodeTruth, Times, probe_lines, write


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six files of two places, small ones, but more than one task could be told to read."""
    folder = tmp_path_factory.mktemp("fleet")
    for place, tls in (("berlin", Times(10)), ("sydney", Times(300))):
        for number in range(3):
            lines = probe_lines([NodeTruth("a:9092", tls=tls)], Random(number), 100, first_round=number * 100)
            write(folder / place / f"{number}.jsonl", lines)
    return folder


def report(*arguments: str) -> Any:
    ended = run_job("report", *arguments, "--output", "json")
    assert ended.code == 0, ended.stderr
    return json.loads(ended.stdout)


def test_what_kctl_writes_is_understood(tmp_path: Path) -> None:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        at = ("-b", served.bootstrap)
        probed = kctl("probe", *at, "--count", "3", "--interval", "1ms", "--output", "jsonl")
        (tmp_path / "probed.jsonl").write_bytes(probed.stdout)
        kctl("produce", "t", *at, "--trace-file", str(tmp_path / "traced.jsonl"), stdin=b"x\n")
    found = report(str(tmp_path), "--place", "()")
    (place,) = found["places"]
    assert (found["bad_lines"], found["unfinished_files"], found["unknown"]) == (0, 0, {})
    assert (place["files"], place["rounds"], place["traces"]) == (2, 3, 1)
    assert {node["node"] for node in place["nodes"]} >= set(served.bootstrap.split(","))
    assert all(node["ready"] == node["attempts"] for node in place["nodes"])
    apis = {api for node in place["nodes"] for api in node["requests"]}
    assert apis >= {"Metadata", "Produce", "InitProducerId"}
    assert [place["limits"][name]["limit_ms"] >= 250 for name in ("connect", "request", "api")] == [True] * 3


def test_spark_finds_the_same(fleet: Path) -> None:
    here, there = report(str(fleet)), report(str(fleet), "--master", "local[2]")
    assert here["places"][1]["nodes"][0]["attempts"] == 300
    for one in (here, there):
        one.pop("now_ms")
    assert here == there


def test_a_page_is_written_and_the_table_is_data(fleet: Path, tmp_path: Path) -> None:
    ended = kctl("pipeline", "report", str(fleet), "--html", str(tmp_path / "page.html"))
    assert (ended.code, ended.stdout.split(b"\n")[0]) == (0, b"6 files, 1200 lines, 2 places")
    assert "<h3>sydney</h3>" in (tmp_path / "page.html").read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_exit_codes_and_what_they_say(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("no\n")
    asked = ("pipeline", "report")
    mixed = kctl(*asked, str(fleet), str(tmp_path))
    strict = kctl(*asked, str(fleet / "berlin" / "0.jsonl"), str(tmp_path), "--strict")
    assert (mixed.code, strict.code) == (ExitCode.OK, ExitCode.DEGRADED)
    assert f"{tmp_path}/bad.jsonl:1: not JSON" in mixed.stderr
    for arguments, code, words in (
        ([str(tmp_path)], ExitCode.DATA, "every line was bad"),
        ([str(tmp_path / "missing")], ExitCode.USAGE, "no such file or folder"),
        ([str(fleet), "--place", "("], ExitCode.USAGE, "no regular expression"),
        ([str(fleet), "--quantile", "1"], ExitCode.USAGE, "not from 0.5 to 0.99999"),
        ([str(fleet), "--html", str(tmp_path / "no" / "page")], ExitCode.USAGE, "No such file or directory"),
    ):
        ended = kctl(*asked, *arguments)
        assert (ended.code, words in ended.stderr, "Traceback" in ended.stderr) == (code, True, False), ended.stderr


def test_a_dry_run_reads_nothing(fleet: Path) -> None:
    ended = kctl("pipeline", "report", str(fleet), "--dry-run")
    assert (ended.code, len(ended.stdout.splitlines())) == (0, 1 + 6)
    rows = json.loads(kctl("pipeline", "report", str(fleet), "--dry-run", "--output", "json").stdout)
    assert [row["place"] for row in rows] == ["berlin"] * 3 + ["sydney"] * 3
    assert sum(row["bytes"] for row in rows) == sum(file.stat().st_size for file in fleet.rglob("*.jsonl"))
    assert "6 files, " in ended.stderr
    assert "this process, without Spark" in ended.stderr
