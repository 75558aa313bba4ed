"""Which files are read, and of which place they tell."""

import re
from pathlib import Path

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.jobs.report.files import NO_PLACE, SourceFile, find_files, group_files


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for name in (
        "berlin/a.jsonl",
        "berlin/deep/b.json.gz",
        "alone.jsonl",
        "oslo/readme.txt",
        ".git/c.jsonl",
        "d/.e.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


def found(paths: list[Path], place: str | None = None) -> list[tuple[str, str]]:
    files = find_files(paths, None if place is None else re.compile(place))
    return [(Path(file.path).name, file.place) for file in files]


def test_folders_give_the_places(fleet: Path) -> None:
    assert found([fleet]) == [("alone.jsonl", "alone"), ("a.jsonl", "berlin"), ("b.json.gz", "berlin")]
    assert found([fleet / "berlin"]) == [("a.jsonl", "a"), ("b.json.gz", "deep")]
    assert found([fleet / "oslo" / "readme.txt"]) == [("readme.txt", "readme.txt")]  # named by hand, whatever its name


def test_a_pattern_gives_the_places(fleet: Path) -> None:
    assert found([fleet], r"(\w)\.json") == [("alone.jsonl", "e"), ("a.jsonl", "a"), ("b.json.gz", "b")]
    assert found([fleet], "berlin")[1:] == [("a.jsonl", "berlin"), ("b.json.gz", "berlin")]
    assert found([fleet], "berlin")[0] == ("alone.jsonl", NO_PLACE)


def test_a_file_that_is_named_twice_is_read_once(fleet: Path) -> None:
    assert len(found([fleet, fleet / "alone.jsonl", fleet])) == 3


def test_nothing_there(fleet: Path) -> None:
    with pytest.raises(ConfigError, match="no such file or folder"):
        found([fleet / "missing"])
    with pytest.raises(ConfigError, match="no file there ends with"):
        found([fleet / "oslo"])


def test_groups_are_of_about_one_size() -> None:
    files = [SourceFile(str(number), "", size) for number, size in enumerate((3, 3, 3, 100, 1, 1))]
    assert [[file.size_bytes for file in group] for group in group_files(files, 7)] == [[3, 3], [3], [100], [1, 1]]
