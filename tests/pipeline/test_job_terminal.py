"""A job's bar on a pseudo-terminal of 40 columns: it comes, it moves, it leaves nothing behind."""

import re
from pathlib import Path

from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
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
    assert all(re.fullmatch(r"\d+/s, lag \d+(\.\.\.)?", text) for *_, text in bars), bars
    lags = [int(re.sub(r"\D", "", text.partition("lag ")[2])) for *_, text in bars]
    assert lags == sorted(lags, reverse=True)
    assert "starting Spark" in shown
    lines = Screen().show(shown)
    assert max(map(len, lines)) <= columns
    assert [line.split() for line in lines if line.startswith("records ")] == [["records", "600"]]
    assert not any("/s" in line or "Spark" in line for line in lines)
