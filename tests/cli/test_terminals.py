"""Every view in a real tmux and on plain consoles: resized, suspended with Ctrl-Z, with wide names, at four widths."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit, fill
from tests.cli.processes import BOUND_S, KCTL, PYTHON, kctl
from tests.cli.screen import Screen
from tests.cli.terminal import Terminal
from tests.cli.tmux import Tmux

JAPANESE, ROCKET = "\u65e5\u672c\u30b0\u30eb\u30fc\u30d7", "a\U0001f680"
WIDTHS = [40, 80, 120, 200]
LONG_FILE = str(Path(__file__).parents[2] / "README.md")
"""A file of more lines than are produced meanwhile."""


@pytest.fixture(scope="module")
def scene() -> Iterator[ServedSandbox]:
    """Two groups with wide names, a topic that is read and written, and one that never ends to move."""
    with Sandbox(nodes=2, topics={"orders": 2, "input": 1, "moved": 1}).serve() as served:
        served.sandbox.hold_moves()
        assert kctl("partitions", "move", PLAN, "--wait", "0s", "-b", served.bootstrap).code == 0
        fill(served.bootstrap, "orders", {0: 9, 1: 12})
        for group in (JAPANESE, ROCKET, "billing"):
            commit(served.bootstrap, group, {("orders", 0): 4, ("orders", 1): 12})
        yield served


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    with Tmux(tmp_path) as shown:
        yield shown


def columns_of(text: str) -> int:
    """Return how many columns a text takes, by another table than rich's."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


class View(NamedTuple):
    """A view that runs until Ctrl-C.

    Attributes:
        words: of the command; shown: what is on the screen then. narrow: the same at 40 columns, where it differs.
        is_silent: the broker does not respond.
    """

    words: tuple[str, ...]
    shown: str
    narrow: str = ""
    is_silent: bool = False
    program: tuple[str, ...] = KCTL

    def command(self, scene: ServedSandbox, silent: str) -> tuple[str, ...]:
        return (*self.words, *(() if self.program is JOB else ("-b", silent if self.is_silent else scene.bootstrap)))


JOB = (PYTHON, str(Path(__file__).parent / "job_view.py"))
PLAN = str(Path(__file__).parent / "move_plan.json")
LAG = ("groups", "lag", "--all", "--watch", "--interval", "100ms")
VIEWS = {
    "probe": View(("probe",), "of 1m left (--api-timeout)", "of 1m left", is_silent=True),
    "probe --watch": View(("probe", "--watch", "--interval", "100ms"), "addresses ready"),
    "groups lag": View(LAG, "UTC  lag 15"),
    "consume": View(("consume", "orders", "-o", "end"), "0 records, 0/s"),
    "produce": View(("produce", "input", "--rate", "2/s", LONG_FILE), "/s, ", " record"),
    "bench end-to-end": View(("bench", "end-to-end", "-n", "1000", "--rate", "2/s"), "/s, ", " record"),
    "bench": View(("bench", "produce", "-n", "1000", "--rate", "2/s"), "/s, ", " record"),
    "partitions move": View(("partitions", "move", PLAN, "--resume"), "0 of 1 partitions moved"),
    "job": View((), "% exporting: ", "/s, lag ", program=JOB),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_suspended_continued_and_resized_in_tmux(
    name: str, tmux: Tmux, scene: ServedSandbox, silent: str
) -> None:
    view = VIEWS[name]
    shown = view.shown
    tmux.kctl(*view.command(scene, silent), program=view.program)
    tmux.wait_for(lambda screen: shown in screen)
    tmux.press("C-z")
    tmux.wait_for(lambda screen: "Stopped" in screen and screen.rstrip().endswith("prompt$"))
    assert tmux.is_cursor_shown
    tmux.type("clear; fg")
    tmux.wait_for(lambda screen: shown in screen)
    for columns in (60, 120, 80):
        tmux.resize(columns)
        screen = tmux.wait_for(lambda screen: shown in screen)
        assert max(map(columns_of, screen.splitlines())) <= columns
    tmux.press("C-c")
    screen = tmux.wait_for(lambda screen: screen.rstrip().endswith("prompt$"))
    assert "Traceback" not in screen
    assert re.search(r"(?m)^(?!\^C)[^k\n]{1,3}kctl [a-z]+: ", screen) is None, "a rest of the view before a message"
    assert tmux.is_cursor_shown


@pytest.mark.parametrize(
    ("command", "shown", "is_narrow"),
    [
        (("groups", "lag", "--all", "--watch"), "UTC  lag 15", lambda screen: screen.count("orders") == 6),
        (("probe", "--watch"), "round 1: ", lambda screen: "P99" not in screen and screen.count("ADDRESS") == 1),
    ],
    ids=["groups lag", "probe"],
)
def test_view_follows_the_terminal_while_it_waits_for_the_next_round(
    command: tuple[str, ...], shown: str, is_narrow: Callable[[str], bool], tmux: Tmux, scene: ServedSandbox
) -> None:
    tmux.kctl(*command, "--interval", "1h", "-b", scene.bootstrap)
    tmux.wait_for(lambda screen: shown in screen)
    tmux.resize(40)
    screen = tmux.wait_for(lambda screen: shown in screen and is_narrow(screen))
    assert max(map(columns_of, screen.splitlines())) <= 40
    tmux.press("C-z")
    tmux.wait_for(lambda screen: screen.rstrip().endswith("prompt$"))
    tmux.type("clear; fg")
    tmux.wait_for(lambda screen: shown in screen and "Stopped" not in screen)
    tmux.press("C-c")
    tmux.wait_for(lambda screen: screen.rstrip().endswith("prompt$"))


def test_frames_leave_nothing_behind_when_the_window_becomes_narrower(tmux: Tmux, scene: ServedSandbox) -> None:
    tmux.resize(120)
    tmux.kctl("groups", "lag", "--all", "--watch", "--interval", "100ms", "-b", scene.bootstrap)
    tmux.wait_for(lambda screen: "END" in screen)
    tmux.resize(50)
    tmux.wait_for(lambda screen: "END" not in screen and screen.count("LAG") == 1)
    tmux.resize(120)
    screen = tmux.wait_for(lambda screen: "END" in screen)
    assert [screen.count(text) for text in ("lag 15", "TOPIC", f"{JAPANESE} ", f"{ROCKET} ")] == [1, 1, 2, 2]


@pytest.mark.parametrize("columns", WIDTHS)
def test_columns_behind_wide_names_are_aligned_in_tmux(columns: int, tmux: Tmux, scene: ServedSandbox) -> None:
    tmux.resize(columns)
    tmux.kctl("groups", "lag", "--all", "--count", "2", "--interval", "50ms", "-b", scene.bootstrap)
    screen = tmux.wait_for(lambda screen: screen.rstrip().endswith("prompt$") and "TOPIC" in screen)
    head, *rows = [line for line in screen.splitlines() if re.search("TOPIC|orders", line)]
    assert len(rows) == 6
    assert {columns_of(row.partition("orders")[0]) for row in rows} == {columns_of(head.partition("TOPIC")[0])}
    assert max(map(columns_of, screen.splitlines())) <= columns


@pytest.mark.parametrize("columns", [40, *(pytest.param(each, marks=pytest.mark.nightly) for each in (80, 120)), 200])
@pytest.mark.parametrize("name", VIEWS)
def test_view_fits_its_width(name: str, columns: int, scene: ServedSandbox, silent: str) -> None:
    view = VIEWS[name]
    shown = view.narrow if columns == 40 and view.narrow else view.shown
    command, environ = view.command(scene, silent), {"NO_COLOR": "1"}
    with Terminal(*command, columns=columns, with_stderr=True, environ=environ, program=view.program) as terminal:
        written = terminal.read_until(b"\x1b[J").decode()
        while shown not in written:
            written += terminal.read_until(b"\x1b[J").decode()
    for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", written).replace("\r", "\n").splitlines():
        assert columns_of(line) <= columns


@pytest.mark.parametrize("name", VIEWS)
def test_plain_console_gets_only_what_it_knows(name: str, scene: ServedSandbox, silent: str) -> None:
    view = VIEWS[name]
    command, shown = view.command(scene, silent), view.shown
    with Terminal(*command, with_stderr=True, environ={"TERM": "linux"}, program=view.program) as terminal:
        written = terminal.read_until(b"\x1b[J")
        while shown.encode() not in written:
            written += terminal.read_until(b"\x1b[J")
    known = rb"\x1b\[(\d+A|2K|J|\?25[lh]|(0|1|2|3[1-6])(;3[1-6])?m)"
    assert b"\x1b" not in re.sub(known, b"", written)


@pytest.mark.parametrize(
    "command",
    [
        ("probe", "--connect-timeout", "300ms"),
        ("probe", "--count", "2", "--interval", "10ms"),
        ("groups", "lag", "--all", "--count", "2", "--interval", "10ms"),
        ("topics", "list"),
        ("consume", "orders", "-o", "start", "-e"),
        ("bench", "produce", "-n", "30", "--rate", "30/s"),
        ("topics", "describe", "nope"),
    ],
    ids=" ".join,
)
def test_dumb_terminal_gets_no_control_sequence(command: tuple[str, ...], scene: ServedSandbox) -> None:
    with Terminal(*command, "-b", scene.bootstrap, with_stderr=True, environ={"TERM": "dumb"}) as terminal:
        assert b"\x1b" not in terminal.read_all()
        terminal.process.wait(BOUND_S)


def test_wrong_values_are_coloured_on_a_terminal_and_nowhere_else(scene: ServedSandbox) -> None:
    command = ("groups", "lag", "billing", "-b", scene.bootstrap)
    with Terminal(*command) as terminal:
        assert b"\x1b[33m5" in terminal.read_all()
    assert b"\x1b" not in kctl(*command).stdout
    with Terminal("topics", "describe", "nope", "-b", scene.bootstrap, with_stderr=True) as terminal:
        shown = terminal.read_all()
    assert b"\x1b[1;31mkctl topics:\x1b[0m" in shown
    assert Screen().show(shown.decode())[0].startswith("kctl topics: ")


def test_trace_picture_is_coloured_on_a_terminal_and_plain_elsewhere(scene: ServedSandbox) -> None:
    command = ("topics", "list", "--trace", "-b", scene.bootstrap)
    with Terminal(*command, with_stderr=True) as terminal:
        shown = terminal.read_all().decode()
    assert re.search(r"connect 127\.0\.0\.1:\d+ +\d+ ms +\x1b\[32m *-*\|\x1b\[0m\r\n", shown)
    with Terminal(*command, with_stderr=True, environ={"NO_COLOR": "1"}) as terminal:
        assert b"\x1b" not in terminal.read_all()
    assert "\x1b" not in kctl(*command).stderr


@pytest.mark.parametrize("name", ["probe", "groups lag", "consume", "partitions move"])
def test_keys_that_are_typed_leave_nothing_in_a_view(name: str, tmux: Tmux, scene: ServedSandbox, silent: str) -> None:
    view = VIEWS[name]
    tmux.kctl(*view.command(scene, silent), program=view.program)
    tmux.wait_for(lambda screen: view.shown in screen)
    for _ in range(3):
        tmux.type(": typed")
    screen = tmux.wait_for(lambda screen: view.shown in screen)
    assert screen.count(view.shown) == 1
    assert "typed" not in screen
    tmux.press("C-c")
    tmux.wait_for(lambda screen: screen.rstrip().endswith("prompt$"))
    tmux.type("echo is-back")
    tmux.wait_for(lambda screen: "prompt$ echo is-back" in screen)
