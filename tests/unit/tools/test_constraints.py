"""requirements/constraints.txt: every line is a version with hashes, and all that users install is covered."""

import re

import pytest

from tools.write_constraints import FILE, HEAD, RELEASE_FILE, problems, read, wanted, wanted_for_release


def test_constraints_cover_every_dependency_with_an_allowed_version() -> None:
    versions = read(FILE.read_text())
    assert list(problems(versions, wanted())) == []
    assert len(versions) > len(wanted()), "what dependencies need themselves is pinned too"


def test_tools_of_a_release_have_versions_with_hashes() -> None:
    assert list(problems(read(RELEASE_FILE.read_text()), wanted_for_release())) == []


def test_missing_or_other_version_is_found() -> None:
    versions = read(FILE.read_text())
    del versions["typer"]
    found = list(problems(versions | {"cramjam": "1.0"}, wanted()))
    assert sorted(re.split("[<>=]", line)[0] for line in found) == ["cramjam", "typer"]


@pytest.mark.parametrize("text", ["typer==1.0\n", "typer>=1.0 \\\n    --hash=sha256:" + "0" * 64, "-e .\n"])
def test_line_without_version_and_hashes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a version with hashes"):
        read(HEAD + text)


def test_build_and_checks_use_the_same_bounded_mypy() -> None:
    content = (FILE.parents[1] / "pyproject.toml").read_text()
    bounds = re.findall(r'"mypy([^"]*)"', content)
    assert bounds == [">=2.0,<3", ">=2.0,<3"]
