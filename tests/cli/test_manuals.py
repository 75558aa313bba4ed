"""The manual pages in man itself: no warning at any width, nothing cut off; and their examples do what they say."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.clock import SystemClock
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit, fill
from tests.cli.processes import BOUND_S, KCTL, ROOT, environment
from tests.support.kafka.requirements import give_up
from tools.manual.examples import EXAMPLES

PAGES = sorted((ROOT / "man").iterdir())


def _run(*command: str, columns: int = 80) -> subprocess.CompletedProcess[str]:
    if shutil.which(command[0]) is None:
        give_up(f"{command[0]} is not here")
    environ = environment({"MANWIDTH": str(columns), "LC_ALL": "C.UTF-8", "MANPAGER": "cat", "GROFF_NO_SGR": "1"})
    return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=BOUND_S, check=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_man_renders_it_without_a_warning(page: Path) -> None:
    rendered = _run("man", "--warnings=w", "-l", str(page))
    assert (rendered.returncode, rendered.stderr) == (0, "")
    assert page.stem.upper() in rendered.stdout
    strict = _run("groff", "-ww", "-man", "-Tutf8", "-z", str(page))
    assert (strict.returncode, strict.stdout, strict.stderr) == (0, "", "")


def test_a_page_fits_narrow_and_wide_terminals() -> None:
    page = str(ROOT / "man" / "kctl-consume.1")
    for columns in (40, 80, 200):
        rendered = _run("man", "-l", page, columns=columns)
        assert "--idle-timeout DURATION" in rendered.stdout
        text = [line for line in rendered.stdout.splitlines() if not line.lstrip().startswith("kctl consume ")]
        assert max(map(len, text)) <= columns, "all but the examples, which are to be copied"


def test_apropos_can_read_each_page() -> None:
    if shutil.which("lexgrog") is None:
        give_up("lexgrog is not here")
    for page in PAGES:
        assert f'"{page.stem} - ' in _run("lexgrog", str(page)).stdout


@pytest.fixture(scope="module")
def scene() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"orders": 2, "copies": 2}).serve() as served:
        fill(served.bootstrap, "orders", {0: 12, 1: 3}, first_ms=SystemClock().wall_ms())
        commit(served.bootstrap, "billing", {("orders", 0): 4})
        yield served


@pytest.mark.parametrize(
    "line", [line for examples in EXAMPLES.values() for _, line in examples], ids=lambda line: line[:60]
)
def test_examples_do_what_they_say(line: str, scene: ServedSandbox, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(KCTL)} "$@"\n')
    program.chmod(0o755)
    environ = environment({"KCTL_BOOTSTRAP_SERVERS": scene.bootstrap, "HOME": str(tmp_path)})
    environ["PATH"] = f"{program.parent}:{environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        env=environ,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or "produce" in line or "install" in line
