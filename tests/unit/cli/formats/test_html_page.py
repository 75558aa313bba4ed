"""Where a page goes is checked before the work it is about, and the check changes nothing."""

import os
from pathlib import Path

import pytest

from kctl.cli.failures import CommandError
from kctl.cli.formats.html_page import check_page


def test_check_leaves_no_file_and_no_change(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text("old")
    os.mkfifo(tmp_path / "pipe")  # without a reader
    (tmp_path / "dangling").symlink_to("nowhere")
    before = sorted(tmp_path.iterdir())
    for name in ("new.html", "old.html", "pipe", "dangling"):
        check_page(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old.html").read_text() == "old"


def test_check_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, why in (
        (tmp_path, "Is a directory"),
        (tmp_path / "absent" / "x.html", "No such file or directory"),
        (tmp_path / "file" / "x.html", "Not a directory"),
    ):
        with pytest.raises(CommandError, match=f"^--html {path}: {why}$"):
            check_page(path)
