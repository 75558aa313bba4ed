"""What a job shows: a bar on a terminal of 40 columns, which leaves nothing behind, and no noise of Spark."""

import os
import re
import signal
from pathlib import Path

from kctl.cli.exit_codes import ExitCode
from kctl.pipeline.export_files.manifests import read_manifests
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.pipeline.processes import JobProcess, children_of
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool

BAR = re.compile(r"\[(#*)(-+)\] *(\d+)% (.*?)\r")
JOB_BOUND_S = bound(300)


def test_the_bar_comes_moves_and_goes(tmp_path: Path) -> None:
    columns = 40
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        fill(served.bootstrap, "t", dict.fromkeys(range(2), 300))
        arguments = ("pipeline", "export", "t", "--to", str(tmp_path / "x"), "-b", served.bootstrap)
        small = ("--range-size", "1KiB", "--master", "local[1]")  # several tasks, one after the other
        with Terminal(*arguments, *small, columns=columns, with_stderr=True) as terminal:
            shown = terminal.read_all().decode()
            assert terminal.process.wait(JOB_BOUND_S) == 0
    plain = re.sub(r"\x1b\[\d*m", "", shown)
    bars = [match.groups() for match in BAR.finditer(plain)]
    assert len({share for _, _, share, _ in bars}) > 1
    assert all(re.fullmatch(r"[\d.]+/s, lag \d+(\.\.\.|, about \d+s left)?", text) for *_, text in bars), bars
    lags = [int(text.partition("lag ")[2].partition(",")[0].rstrip(".")) for *_, text in bars]
    assert lags == sorted(lags, reverse=True)
    assert "starting Spark" in shown
    lines = Screen().show(shown)
    assert max(map(len, lines)) <= columns
    assert [line.split() for line in lines if line.startswith("records ")] == [["records", "600"]]
    assert not any("/s" in line or "Spark" in line for line in lines)


def test_job_whose_jvm_is_killed_shows_one_error_and_no_trace(tmp_path: Path) -> None:
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    log, folder = tmp_path / "log", tmp_path / "x"
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        fill(served.bootstrap, "t", dict.fromkeys(range(2), 3))
        arguments = ("export", "t", "--to", str(folder), "-b", served.bootstrap, "--continuous", "--interval", "200ms")
        job = JobProcess(tmp_path / "job", *arguments, "--master", "local[1]", "--spark-log", str(log))
        try:
            job.wait_for(lambda: bool(read_manifests(folder)), "the first round")
            java = [pid for pid in children_of(job.process.pid) if Path(f"/proc/{pid}/comm").read_text() == "java\n"]
            for pid in java:
                os.kill(pid, signal.SIGKILL)
            fill(served.bootstrap, "t", dict.fromkeys(range(2), 3))
            assert job.ended()[0] == ExitCode.UNEXPECTED
        finally:
            job.close()
    assert len(java) == 1
    said = job.said().splitlines()
    assert said[-2:] == ["kctl pipeline: the Java process of Spark exited", f"hint: read the log of Spark: {log}"]
    assert all(line.startswith("kctl pipeline: ") for line in said[:-1]), said
    assert "Traceback" in log.read_text()
