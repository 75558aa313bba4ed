"""The name of the distribution has one place in the code."""

import tomllib
from pathlib import Path

from kctl.version import DISTRIBUTION, install_command

ROOT = Path(__file__).parents[2]


def test_project_has_the_name_of_the_constant() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    own = [line for lines in project["optional-dependencies"].values() for line in lines if line.startswith("kctl")]
    assert {line.partition("[")[0] for line in own} == {DISTRIBUTION}


def test_no_other_module_has_the_name() -> None:
    spellings = {DISTRIBUTION, DISTRIBUTION.replace("-", "_")}
    files = [file for folder in ("kctl", "tools") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)) for file in files if any(name in file.read_text() for name in spellings)}
    assert found == {"kctl/version.py"}


def test_install_command_names_the_extra() -> None:
    assert install_command("jq") == f"pip install '{DISTRIBUTION}[jq]'"
