"""--trace as whole command lines: frames and attempts on stderr, a waterfall at the end, no secret, data untouched."""

import json
import re
from pathlib import Path

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.processes import kctl
from tests.support.faults import peers


def test_every_command_takes_it_and_tells_frames_both_ways() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        at = ("-b", served.bootstrap, "--trace")
        produced = kctl("produce", "t", *at, stdin=b"canary-payload\n")
        consumed = kctl("consume", "t", "-e", *at)
        listed = kctl("topics", "list", *at)
    assert consumed.stdout == b"canary-payload\n"
    for ended, api in ((produced, "Produce"), (consumed, "Fetch"), (listed, "Metadata")):
        told = ended.stderr
        assert ended.code == 0
        assert f" > {served.bootstrap}  {api} v" in told
        assert f" < {served.bootstrap}  {api} v" in told
        assert "api timer, " in told
        assert "canary-payload" not in told


def test_the_waterfall_shows_which_limit_ended_what() -> None:
    with peers.blackhole() as address:
        ended = kctl("topics", "list", "-b", address, "--trace", "--api-timeout", "700ms", "--connect-timeout", "200ms")
    told = ended.stderr
    assert re.search(r"expired in tcp after \d+ ms \(limit 200 ms\)", told)
    assert "T timed out" in told
    assert ended.code == 12


def test_a_file_has_every_event_and_the_terminal_none(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        ended = kctl("produce", "t", "-b", served.bootstrap, "--trace-file", str(file), stdin=b"canary-payload\n")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (ended.code, ended.stderr.count("\n")) == (0, 1)
    assert [lines[0]["event"], lines[1]["event"], lines[-1]["event"]] == ["trace", "started", "end"]
    assert "Produce" in {line["api"] for line in lines if line["event"] == "response_received"}
    assert "canary-payload" not in file.read_text()


def test_a_trace_file_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    ended = kctl("topics", "list", "-b", "127.0.0.1:1", "--trace-file", str(tmp_path / "no" / "file"))
    assert ended.code == 2
    assert "No such file or directory" in ended.stderr


def test_trace_file_is_private_and_follows_no_symbolic_link(refused: str, tmp_path: Path) -> None:
    call = ("topics", "list", "-b", refused, "--api-timeout", "500ms", "--trace-file")
    kctl(*call, str(tmp_path / "trace.jsonl"))
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o777 == 0o600
    (tmp_path / "victim").write_bytes(b"keep")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "victim")
    ended = kctl(*call, str(tmp_path / "link.jsonl"))
    assert ended.code == ExitCode.USAGE
    assert "symbolic links are not followed" in ended.stderr.replace("\n", " ")
    assert (tmp_path / "victim").read_bytes() == b"keep"
