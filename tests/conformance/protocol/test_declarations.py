"""The declarations are what the pinned jar says, and the checker notices when one is not."""

from pathlib import Path
from shutil import copytree

import pytest

from tools import check_declarations, declarations, write_declaration

pytestmark = pytest.mark.usefixtures("java_and_maven")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the declarations that the tools work on."""
    copy = copytree(declarations.API_FOLDER, tmp_path / "api")
    monkeypatch.setattr(check_declarations, "API_FOLDER", copy)
    monkeypatch.setattr(write_declaration, "API_FOLDER", copy)
    return copy


def test_every_declaration_agrees_with_the_jar(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_declarations.main() == 0, capsys.readouterr().out


def test_a_wrong_version_is_a_difference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "metadata.py"
    path.write_text(path.read_text().replace('"int32", "7+"', '"int32", "6+"'))
    assert check_declarations.main() == 1
    output = capsys.readouterr().out
    assert '-    leader_epoch: int = field("int32", "6+"' in output
    assert '+    leader_epoch: int = field("int32", "7+"' in output


def test_writing_adds_an_api_and_its_key(folder: Path) -> None:
    assert not (folder / "vote.py").exists(), "controllers send it, clients do not"
    assert write_declaration.main(["VoteRequest"]) == 0
    assert "class VoteResponse(Response, api_key=52, versions=" in (folder / "vote.py").read_text()
    assert '52: ("Vote", "vote")' in (folder / "names.py").read_text()
    assert check_declarations.differences() == []


def test_writing_all_repairs_a_file(folder: Path) -> None:
    path = folder / "fetch.py"
    good = path.read_text()
    path.write_text(good + "# changed\n")
    assert write_declaration.main(["--all"]) == 0
    assert path.read_text() == good


def test_an_unknown_name_is_refused(folder: Path) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(SystemExit, match=r"no such API or message in .*: Metadatum"):
        write_declaration.main(["Metadatum"])
    assert sorted(folder.iterdir()) == before
