"""`kctl pipeline report` as whole processes: files that kctl itself wrote, Spark and no Spark alike, exit codes."""

import gzip
import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.processes import BOUND_S, KCTL, environment, kctl
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
        (
            [str(tmp_path)],
            ExitCode.DATA,
            f"of 1 file: 1 line could not be used; the first: {tmp_path}/bad.jsonl:1: not JSON",
        ),
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


def test_what_cannot_be_read_is_named_with_file_and_line(fleet: Path, tmp_path: Path) -> None:
    good = (fleet / "berlin" / "0.jsonl").read_bytes()
    for name, content, words in (
        ("empty.jsonl", b"", "nothing to report of 1 file: there is no result of a probe"),
        ("binary.jsonl", bytes(range(256)), "binary.jsonl:1: not "),
        ("utf16.jsonl", good.decode().encode("utf-16"), "utf16.jsonl:1: not UTF-8"),
        ("number.jsonl", b'{"v":1,"event":"summary","time_ms":' + b"9" * 5000 + b"}\n", "number.jsonl:1: "),
        ("deep.jsonl", b"[" * 100_000, "deep.jsonl:1: not JSON that can be read: nested too deeply"),
        ("others.jsonl", b'\n[1]\n"x"\nnull\n{}\n', "others.jsonl:2: an array where an object is expected"),
        ("no.jsonl.gz", b"not gzip", "no.jsonl.gz: cannot be read: Not a gzipped file"),
        ("cut.jsonl.gz", gzip.compress(good)[:100], "cut.jsonl.gz: cannot be read: Compressed file ended"),
    ):
        (tmp_path / name).write_bytes(content)
        alone = kctl("pipeline", "report", str(tmp_path / name), "-q")
        assert (alone.code, alone.stdout, "Traceback" in alone.stderr) == (ExitCode.DATA, b"", False), name
        assert words in alone.stderr, alone.stderr
        assert alone.stderr.endswith("any command\n")
    beside = kctl("pipeline", "report", str(tmp_path), str(fleet / "berlin" / "0.jsonl"))
    assert beside.code == ExitCode.OK
    assert beside.stdout.startswith(b"9 files, ")
    assert f"lines could not be used; the first: {tmp_path}/binary.jsonl:1: not" in beside.stderr


def test_a_pipe_in_a_folder_is_not_waited_for_and_one_that_is_named_is_read(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_bytes((fleet / "berlin" / "0.jsonl").read_bytes())
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert kctl("pipeline", "report", str(tmp_path)).stdout.startswith(b"1 file, ")
    writing = subprocess.Popen(["cp", str(tmp_path / "0.jsonl"), str(tmp_path / "pipe.jsonl")])
    try:
        ended = kctl("pipeline", "report", str(tmp_path / "pipe.jsonl"))
        assert writing.wait(BOUND_S) == 0
    finally:
        writing.kill()
    assert ended.stdout.startswith(b"1 file, 200 lines, 1 place\n")


def test_a_page_that_cannot_be_written_leaves_nothing(fleet: Path, tmp_path: Path) -> None:
    asked = ("pipeline", "report", str(fleet), "-q", "--html")
    for path, why in ((tmp_path, "Is a directory"), (Path("/dev/full"), "No space left on device")):
        ended = kctl(*asked, str(path))
        assert (ended.code, f"--html {path}: {why}" in ended.stderr) == (ExitCode.USAGE, True), ended.stderr
    assert list(tmp_path.iterdir()) == []
    assert Path("/dev/full").is_char_device()
    before = tmp_path / "page.html"
    before.write_text("before")
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *KCTL, *asked, str(before)],
        env=environment({"PYTHONDONTWRITEBYTECODE": "1"}),
        capture_output=True,
        timeout=BOUND_S,
        check=False,
    )
    assert (limited.returncode, b"File too large" in limited.stderr) == (ExitCode.USAGE, True), limited.stderr
    assert before.read_text() == "before"
    assert list(tmp_path.iterdir()) == [before]


def test_a_page_goes_where_a_link_leads(fleet: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "site" / "page.html")
    assert kctl("pipeline", "report", str(fleet), "-q", "--html", str(tmp_path / "link.html")).code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "<h3>sydney</h3>" in (tmp_path / "site" / "page.html").read_text()
