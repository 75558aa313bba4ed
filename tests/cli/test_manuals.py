"""The manual pages in man itself: no warning at any width, nothing cut off."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import BOUND_S, ROOT, environment
from tests.support.kafka.requirements import give_up

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
