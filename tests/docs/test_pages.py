"""Every block of README and docs does what the page says: console blocks are typed, Python blocks are run."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from kctl.sandbox import Sandbox
from tests.docs.pages import PAGES, ROOT, Block, Shell, Step, blocks, free_ports, mistakes, pattern_of, replaced, steps

OWN_TEST = {ROOT / "docs" / "formats.md": "tests/unit/cli/formats/test_docs.py runs its examples on documented records"}
PLAIN = {"", "text", "json", "jsonl", "toml", "properties", "ini", "yaml", "html", "make"}
"""Blocks that show something and type nothing."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


FIRST_READ = {"README.md", "tutorial.md", "consume.md", "produce.md"}
"""Pages whose commands are typed in `make test`, too."""


def _with(kind: str) -> list[ParameterSet]:
    found = [page for page in PAGES if page not in OWN_TEST and any(block.kind == kind for block in blocks(page))]
    is_late = {page: kind == "console" and page.name not in FIRST_READ for page in found}
    return [pytest.param(page, marks=[pytest.mark.nightly] * is_late[page], id=_name(page)) for page in found]


@pytest.fixture
def ports() -> Iterator[dict[str, str]]:
    """The ports that pages use, and free ones."""
    with free_ports() as found:
        yield found


def _starts_a_sandbox(page: Path) -> bool:
    return any("kctl sandbox start" in block.text for block in blocks(page) if block.kind == "console")


@pytest.mark.parametrize("page", _with("console"))
def test_typed_block_prints_what_the_page_shows(page: Path, ports: dict[str, str], tmp_path: Path) -> None:
    servers = ",".join(f"127.0.0.1:{port}" for port in ports.values())
    with contextlib.ExitStack() as stack:
        if not _starts_a_sandbox(page):
            stack.enter_context(Sandbox(nodes=3).serve(port=int(ports["9092"])))
        shell = stack.enter_context(Shell(tmp_path, {"KCTL_BOOTSTRAP_SERVERS": servers}, ports))
        found = list(mistakes(shell, blocks(page)))
        assert not found, "\n".join(found)


@pytest.mark.parametrize("page", _with("python"))
def test_programs_run(page: Path, ports: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    with Sandbox(nodes=3).serve(port=int(ports["9092"])), contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(page):
            if block.kind == "python" and block.why_not is None:
                text = "\n" * (block.line - 1) + replaced(block.text, ports)
                exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_is_of_a_kind_that_is_checked(page: Path) -> None:
    kinds = {block.kind for block in blocks(page)}
    assert kinds <= PLAIN | {"console", "python", "bash"}
    if page not in OWN_TEST:
        plain = [block for block in blocks(page) if block.kind in PLAIN and block.text.startswith("$ ")]
        assert plain == [], "a block that types something is a console block"
    if page.name != "cookbook.md":  # its scripts have a test each
        assert "bash" not in kinds


def test_a_page_that_is_wrong_is_found(tmp_path: Path) -> None:
    with Shell(tmp_path, {}, {}) as shell:
        page = [Block("console", "$ echo one; echo two >&2\none\nthree\n$ echo 12 ms\n3 ms\n", 1, None)]
        [found] = mistakes(shell, page)
    assert found.startswith("line 1: $ echo one; echo two >&2\n-- shown\none\nthree\n-- came\none\ntwo\n")


def test_steps_and_patterns() -> None:
    block = Block("console", "$ a \\\n  b\nout\n$ c <<E\n> d\n> E\n", 5, None)
    assert steps(block) == [Step("a \\\n  b", ["out"], 5), Step("c <<E\nd\nE", [], 8)]
    assert pattern_of(["..."]) == r"(?:.*\n)*?"
