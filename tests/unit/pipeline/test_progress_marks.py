"""Marks in a directory: they are found again, and planted links are not followed."""

from pathlib import Path

import pytest

from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.progress_marks import FolderMarks


def test_mark_is_found_again(tmp_path: Path) -> None:
    marks = FolderMarks(tmp_path / "progress")
    marks.prepare()
    marks.add("a")
    marks.add("a")
    assert (marks.names(), marks.has("a"), marks.has("b")) == ({"a"}, True, False)


def test_mark_that_is_a_link_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    marks = FolderMarks(tmp_path / "progress")
    marks.prepare()
    (tmp_path / "progress" / "a").symlink_to(victim)
    with pytest.raises(FolderError):
        marks.add("a")
    assert victim.read_text() == "precious"
