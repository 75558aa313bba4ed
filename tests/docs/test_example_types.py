"""The programs in examples/ in the eyes of strict type checkers, and in their list."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support.bounds import bound

CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", "--config-file=", "--ignore-missing-imports"],
    "pyright": ["-m", "pyright", "--pythonpath", sys.executable],
}
PYRIGHT = {"typeCheckingMode": "strict", "reportMissingTypeStubs": False, "extraPaths": [str(ROOT)]}
BOUND_S = bound(300)
WRONG = "from kctl.client import Producer\n\nProducer({}).send(7)\n"


def checked(checker: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the programs in a folder."""
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    command = [sys.executable, *CHECKERS[checker], *sorted(map(str, folder.glob("*.py")))]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BOUND_S, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_examples_pass_a_strict_type_checker_that_finds_a_mistake(checker: str, tmp_path: Path) -> None:
    for file in (ROOT / "examples").glob("*.py"):
        shutil.copy(file, tmp_path)
    found = checked(checker, tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    (tmp_path / "wrong.py").write_text(WRONG)
    found = checked(checker, tmp_path)
    assert found.returncode == 1
    assert "wrong.py:3" in found.stdout


def test_list_of_examples_has_all_programs() -> None:
    folder = ROOT / "examples"
    listed = re.findall(r"(?m)^\| `(\w+\.py)` \|", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(file.name for file in folder.glob("*.py"))
