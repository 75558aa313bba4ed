"""The Python versions that the package claims are those that tests run on."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_classifiers_name_no_version_that_tests_do_not_run_on() -> None:
    releases = re.findall(r"[a-z]+:(3\.\d+)", (ROOT / "tools" / "test_versions.sh").read_text())
    oldest = PROJECT["tool"]["mypy"]["python_version"]
    prefix = "Programming Language :: Python :: "
    claimed = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)]
    assert claimed[0] == oldest
    assert set(claimed[1:]) <= set(releases)
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    page = (ROOT / "docs" / "install.md").read_text()
    sentence = re.search(r"tested on Linux with Python (3[^\n]*)\. To", page)
    assert sentence is not None
    assert re.findall(r"3\.\d+", sentence[1]) == claimed
