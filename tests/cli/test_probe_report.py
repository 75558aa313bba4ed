"""`kctl probe report` as a whole command line: files that kctl wrote, bad input, exit codes, terminals."""

import gzip
import json
import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.processes import BOUND_S, KCTL, environment, kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.unit.cli.probe.report.fleets import NodeTruth, Times, probe_lines, write

LONG = "kafka-1.production.eu-central.example.internal:9093"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return four files of two places."""
    folder = tmp_path_factory.mktemp("fleet")
    for place, tls in (("berlin", Times(10)), ("sydney", Times(300))):
        for number in range(2):
            lines = probe_lines([NodeTruth(LONG, tls=tls)], Random(number), 100, first_round=number * 100)
            write(folder / place / f"{number}.jsonl", lines)
    return sorted(map(str, folder.rglob("*.jsonl")))


def test_files_that_kctl_wrote_are_read(tmp_path: Path) -> None:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        at = ("-b", served.bootstrap)
        for shape in ("jsonl", "json"):
            probed = kctl("probe", *at, "--count", "3", "--interval", "1ms", "--output", shape)
            (tmp_path / f"probed.{shape}").write_bytes(probed.stdout)
        kctl("produce", "t", *at, "--trace-file", str(tmp_path / "traced.jsonl"), stdin=b"x\n")
    ended = kctl("probe", "report", *map(str, sorted(tmp_path.iterdir())), "--output", "json")
    assert ended.code == 0, ended.stderr
    found = json.loads(ended.stdout)
    (place,) = found["places"]
    assert (found["bad_samples"], found["findings"]) == ([], [])
    assert (place["place"], place["files"], place["rounds"], place["traces"]) == (tmp_path.name, 3, 6, 1)
    assert {node["node"] for node in place["nodes"]} >= set(served.bootstrap.split(","))
    assert all(node["ready"] == node["attempts"] > 0 for node in place["nodes"])
    assert place["total"]["requests"].keys() >= {"Metadata", "Produce", "InitProducerId"}
    assert all(place["timeouts"][name]["timeout_ms"] >= 250 for name in ("connect", "request", "api"))


def test_page_is_written_beside_the_table(fleet: list[str], tmp_path: Path) -> None:
    ended = kctl("probe", "report", *fleet, "--html", str(tmp_path / "page.html"))
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith(b"Suggested timeouts\nPLACE ")
    assert "<h2>sydney: 2 files, 200 probes, 0 traces</h2>" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_report_fits_the_terminal(fleet: list[str], columns: int) -> None:
    with Terminal("probe", "report", *fleet, columns=columns, with_stderr=True) as terminal:
        lines = Screen().show(terminal.read_all().decode())
        assert terminal.process.wait(BOUND_S) == 0
    assert max(map(len, lines)) <= columns
    assert LONG in "".join(line.strip() for line in lines)
    assert any(line.startswith("PLACE ") for line in lines) == (columns == 200)


def test_report_in_a_pipe_is_not_cut(fleet: list[str]) -> None:
    ended = kctl("probe", "report", *fleet, environ={"COLUMNS": "40"})
    assert max(map(len, ended.stdout.decode().splitlines())) > 80


def test_exit_codes_and_messages(fleet: list[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no\n")
    mixed, strict = kctl("probe", "report", *fleet, str(bad)), kctl("probe", "report", fleet[0], str(bad), "--strict")
    assert (mixed.code, strict.code) == (ExitCode.OK, ExitCode.PARTIAL_FAILURE)
    assert mixed.stderr == f"kctl probe: 1 invalid line skipped (first: {bad}:1: {_NOT_JSON})\n"
    assert kctl("probe", "report", *fleet, str(bad), "-q").stderr == ""
    for arguments, code, words in (
        (
            [str(bad)],
            ExitCode.DATA,
            f"1 invalid line (first: {bad}:1: {_NOT_JSON})\nhint: record results with kctl probe --watch",
        ),
        ([str(tmp_path / "missing")], ExitCode.USAGE, f"cannot read {tmp_path}/missing: the file does not exist\n"),
        ([str(tmp_path)], ExitCode.USAGE, f"cannot read {tmp_path}: the path is a directory, not a file\n"),
        ([""], ExitCode.USAGE, "Invalid value for 'FILE...': the path is empty\n"),
        ([], ExitCode.USAGE, "Missing argument 'FILE...'."),
        ([fleet[0], "--html", str(tmp_path)], ExitCode.USAGE, f"--html {tmp_path}: Is a directory\n"),
        ([fleet[0], "--html", "/dev/full"], ExitCode.DISK, "--html /dev/full: No space left on device\n"),
    ):
        ended = kctl("probe", "report", *arguments)
        assert (ended.code, words in ended.stderr, "Traceback" in ended.stderr) == (code, True, False), ended.stderr


_NOT_JSON = "the line is not JSON: Expecting value at column 1"


def test_bad_input_is_named_with_file_and_line(fleet: list[str], tmp_path: Path) -> None:
    good = Path(fleet[0]).read_bytes()
    os.mkfifo(tmp_path / "pipe.jsonl")  # without a writer
    for name, content, words in (
        ("pipe.jsonl", None, "pipe.jsonl: empty"),
        ("empty.jsonl", b"", "empty.jsonl: empty"),
        ("blank.jsonl", b"\n\n", "no probe results or traces found"),
        ("binary.jsonl", bytes(range(256)), "binary.jsonl:1: the line is not "),
        ("utf16.jsonl", good.decode().encode("utf-16"), "utf16.jsonl:1: the line is not UTF-8"),
        ("number.jsonl", b'{"v":1,"event":"summary","time_ms":' + b"9" * 5000 + b"}\n", "number.jsonl:1: "),
        ("deep.jsonl", b"[" * 100_000, "deep.jsonl:1: the line is not supported: JSON is nested too deeply"),
        (
            "records.jsonl",
            b'\n{"topic": "t", "value": "v"}\n',
            "records.jsonl:2: the line is not from kctl probe or --trace",
        ),
        ("cut.jsonl", good.splitlines(keepends=True)[1][:-50], "cut.jsonl:1: the line is not JSON: "),
        ("no.jsonl.gz", b"not gzip", "no.jsonl.gz: cannot be read: Not a gzipped file"),
        ("cut.jsonl.gz", gzip.compress(good)[:100], "cut.jsonl.gz: cannot be read: Compressed file ended"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        alone = kctl("probe", "report", str(tmp_path / name), "-q")
        assert (alone.code, alone.stdout, "Traceback" in alone.stderr) == (ExitCode.DATA, b"", False), name
        assert words in alone.stderr, alone.stderr
        assert alone.stderr.endswith("any command\n")


def test_pipe_with_a_writer_is_read(fleet: list[str]) -> None:
    with subprocess.Popen(["cat", fleet[0]], stdout=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        path = f"/dev/fd/{writing.stdout.fileno()}"
        ended = subprocess.run(
            [*KCTL, "probe", "report", path],
            pass_fds=[writing.stdout.fileno()],
            env=environment(),
            capture_output=True,
            timeout=BOUND_S,
            check=False,
        )
    assert (ended.returncode, b"fd: 1 files, 100 probes, 0 traces\n" in ended.stdout) == (0, True), ended.stderr


def test_probe_takes_options_and_its_subcommand(fleet: list[str]) -> None:
    refused = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"
    probed = kctl("probe", "--bootstrap", refused, "-q", "--api-timeout", "5s")
    assert probed.code == 11, probed.stderr
    before = kctl("probe", "-q", "report", *fleet)
    assert (before.code, before.stdout) == (ExitCode.USAGE, b"")
    assert before.stderr.startswith("kctl probe: Put option -q after 'report'.\n")
    unknown = kctl("probe", "reports")
    assert (unknown.code, "No such command 'reports'" in unknown.stderr) == (ExitCode.USAGE, True)


def test_old_name_points_to_the_new_one(fleet: list[str]) -> None:
    ended = kctl("pipeline", "report", *fleet)
    assert ended.code == ExitCode.USAGE
    assert ended.stderr.startswith("kctl pipeline: No such command 'report': it is now kctl probe report FILE...\n")
