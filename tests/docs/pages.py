"""The pages of the documentation as what a reader would type: blocks by kind, and a shell that runs them.

A page's `console` blocks are one session of a shell: lines after `$ ` are typed (a line that ends with a backslash or
follows `> ` goes on), the others are what must appear. Numbers with a fraction and those before a unit of time or a
rate may differ; `...` stands for anything, on a line of its own for any lines. `python` blocks of a page are one
program. A block is left out only by a comment before it, `<!-- not run: why -->`.
"""

import os
import re
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.support.bounds import bound
from tests.support.ports import leased_ports

ROOT = Path(__file__).parents[2]
BOUND_S = bound(60)
"""No command of a page takes nearly as long; a hang ends here."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n+)?^```(?P<kind>[\w-]*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(r"\d+\.\d+(?![.\d])|\d[\d,.]*(?=\s*(?:ms|us|s|records/s|MB/s)\b)")
_END = "\x1e"


class Block(NamedTuple):
    """One fenced block of a page."""

    kind: str
    text: str
    line: int
    why_not: str | None
    """Why it is not run; None: it is."""


class Step(NamedTuple):
    """A command, and what the page shows of its output."""

    command: str
    shown: list[str]
    line: int


def blocks(page: Path) -> list[Block]:
    """Return every fenced block of a page, in order."""
    text = page.read_text()
    return [
        Block(found["kind"], found["text"], text.count("\n", 0, found.start("text")) + 1, found["why"])
        for found in _BLOCK.finditer(text)
    ]


def steps(block: Block) -> list[Step]:
    """Return what a `console` block types and shows."""
    found: list[Step] = []
    goes_on = False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if goes_on or line.startswith("> "):
            last = found.pop()
            found.append(last._replace(command=f"{last.command}\n{line.removeprefix('> ')}"))
        elif line.startswith("$ "):
            found.append(Step(line[2:], [], number))
        elif found:
            found[-1].shown.append(line)
        else:
            raise AssertionError(f"line {number}: a console block begins with `$ `, not with {line!r}")
        goes_on = bool(found) and found[-1].command.endswith("\\") and not found[-1].shown
    return [step._replace(shown=_without_empty_end(step.shown)) for step in found]


def _without_empty_end(lines: list[str]) -> list[str]:
    return _without_empty_end(lines[:-1]) if lines and not lines[-1].strip() else lines


def pattern_of(shown: list[str]) -> str:
    """Return the expression that the output must match whole."""
    lines = []
    for line in shown:
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        pieces = [_NUMBER.sub(lambda _: "\0", piece) for piece in line.rstrip().split("...")]
        escaped = ".*".join(re.escape(piece) for piece in pieces).replace("\0", r"\d[\d,.]*")
        lines.append(re.sub(r"(?:\\ ){2,}", r"\\s+", escaped).replace(r"\ ", r"\s+") + r"\s*?\n")
    return "".join(lines)


OWN = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "kctl")
"""kctl of this tree."""


def kctl_in(folder: Path, program: Sequence[str] = OWN) -> Path:
    """Make `kctl` a command that runs `program`, and return the folder to put on PATH for it."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir(exist_ok=True)
    command = bin_folder / "kctl"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
    command.chmod(0o755)
    return bin_folder


class Shell:
    """A bash that types the commands of one page; stdout and stderr come as they would on a terminal.

    Args:
        ports: what stands on the page, and what is used instead.
        program: what runs as `kctl`.
    """

    def __init__(
        self, folder: Path, environ: dict[str, str], ports: dict[str, str], program: Sequence[str] = OWN
    ) -> None:
        self._ports = ports
        self._left = ""
        bin_folder = kctl_in(folder, program)
        ours = {name: value for name, value in os.environ.items() if not name.startswith("KCTL_")}
        path = f"{bin_folder}:{Path(sys.executable).parent}:{ours['PATH']}"
        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")}
        self._bash = subprocess.Popen(
            [shutil.which("bash") or "bash", "--norc", "--noprofile"],
            cwd=folder,
            env={**ours, **home, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def __enter__(self) -> "Shell":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._bash.stdin is not None
        try:
            self._bash.stdin.write(b"kill $(jobs -p) 2>/dev/null; wait; exit\n")
            self._bash.stdin.close()
            self._bash.wait(BOUND_S)
        finally:
            self._bash.kill()
            self._bash.wait()
            if self._bash.stdout is not None:
                self._bash.stdout.close()

    def run(self, step: Step) -> str:
        """Type a command and return what appears, with the ports of the page."""
        assert self._bash.stdin is not None
        command = replaced(step.command, self._ports)
        self._bash.stdin.write(f"{command}\nprintf '{_END}'\n".encode())
        self._bash.stdin.flush()
        if command.rstrip().endswith("&"):
            output = self._read_until(_END) + self._read_lines(len(step.shown))
        else:
            output = self._read_until(_END)
        return replaced(output, {used: shown for shown, used in self._ports.items()})

    def _read_until(self, end: str) -> str:
        while end not in self._left:
            self._left += self._read()
        before, _, self._left = self._left.partition(end)
        return before

    def _read_lines(self, count: int) -> str:
        while self._left.count("\n") < count:
            self._left += self._read()
        lines = self._left.splitlines(keepends=True)
        self._left = "".join(lines[count:])
        return "".join(lines[:count])

    def _read(self) -> str:
        assert self._bash.stdout is not None
        ready, _, _ = select.select([self._bash.stdout], [], [], BOUND_S)
        assert ready, f"no record for {BOUND_S} s; so far: {self._left!r}"
        piece = os.read(self._bash.stdout.fileno(), 65536)
        assert piece, f"the shell ended; so far: {self._left!r}"
        return piece.decode(errors="replace")


def replaced(text: str, words: dict[str, str]) -> str:
    """Return the text with other words for some."""
    if not words:
        return text
    any_of = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))
    return any_of.sub(lambda found: words[found[0]], text)


def mistakes(shell: Shell, page_blocks: list[Block]) -> Iterator[str]:
    """Type every console block of a page and yield what did not come as it is shown."""
    for block in page_blocks:
        if block.kind != "console" or block.why_not is not None:
            continue
        for step in steps(block):
            output = shell.run(step)
            if (
                step.shown
                and re.fullmatch(pattern_of(step.shown), output if output.endswith("\n") else f"{output}\n") is None
            ):
                shown = "\n".join(step.shown)
                yield f"line {step.line}: $ {step.command}\n-- shown\n{shown}\n-- came\n{output}"


@contextmanager
def free_ports() -> Iterator[dict[str, str]]:
    """The ports that pages use, and free ones."""
    with leased_ports() as lease:
        yield {str(9092 + i): str(lease.take()) for i in range(3)}


def first_look(program: Sequence[str], folder: Path) -> list[str]:
    """Type the quick start of README with `program` as kctl, and return what did not come as it is shown."""
    with free_ports() as ports, Shell(folder, {}, ports, program) as shell:
        return list(mistakes(shell, blocks(ROOT / "README.md")))
