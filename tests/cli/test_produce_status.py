"""The line of `kctl produce` on pseudo-terminals: rate and bytes while it runs, nothing of it left at the end."""

import re
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from tests.cli.processes import kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.support.bounds import bound


@pytest.fixture
def lines(tmp_path: Path) -> str:
    file = tmp_path / "lines"
    file.write_bytes(b"0123456789\n" * 100)
    return str(file)


@pytest.mark.parametrize("columns", [40, 80])
def test_a_file(lines: str, columns: int) -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal(
            "produce", "t", lines, "-b", served.bootstrap, "--rate", "50/s", columns=columns, with_stderr=True
        ) as terminal,
    ):
        shown = terminal.read_until(b"\x1b[J")
        assert b"% " in shown
        assert b"100% " not in shown, "no more is counted than --rate has let through, although the whole file is read"
        shown += terminal.read_all()
        assert terminal.process.wait(bound(30)) == 0
    frames = shown.decode().partition("kctl produce: ")[0].split("\r")
    assert (
        max(len(frame.split("\x1b[2K")[-1].replace("\x1b[2m", "").replace("\x1b[0m", "")) for frame in frames) < columns
    )
    assert (re.search(rb"\[#{10,19}-{1,10}\]", shown) is not None) == (columns == 80)
    lines_left = [line for line in Screen().show(shown.decode()) if line]
    assert " ".join(lines_left) == "kctl produce: 100 records delivered (t-0: 100)"
    assert len(lines_left) == (2 if columns == 40 else 1)


@pytest.mark.parametrize("options", [("-q",), ()], ids=["quiet", "no terminal"])
def test_nothing_where_nobody_looks(lines: str, options: tuple[str, ...]) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        if not options:
            told = kctl("produce", "t", lines, "-b", served.bootstrap, "--rate", "80/s").stderr
            assert told == "kctl produce: 100 records delivered (t-0: 100)\n"
            return
        with Terminal(
            "produce", "t", lines, "-b", served.bootstrap, "--rate", "80/s", *options, with_stderr=True
        ) as terminal:
            assert terminal.read_all() == b""


def test_nothing_in_the_way_of_who_types() -> None:
    with (
        Sandbox(nodes=1, topics={"t": 1}).serve() as served,
        Terminal("produce", "t", "-b", served.bootstrap, "--rate", "1/s", with_stderr=True) as terminal,
    ):
        terminal.type(b"one\ntwo\n\x04")
        shown = terminal.read_all().decode()
    assert "/s" not in shown
    assert "2 records delivered" in shown
