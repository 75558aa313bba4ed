"""Folders of sessions: private, known to be in use by a lock, and cleared away when their owner is gone."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from kctl.pipeline.session_folders import PREFIX, log_beside, remove_abandoned, session_folder


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def abandoned(where: Path, name: str = "abcd_123") -> Path:
    """As a process leaves it that was killed: a lock ends with whoever had it."""
    folder = where / f"{PREFIX}{name}"
    (folder / "blockmgr" / "00").mkdir(parents=True)
    (folder / "kctl_shipped.tgz").touch()
    folder.with_name(f"{folder.name}.log").touch()
    return folder


def test_session_folder_is_private_and_removed_with_the_session(tmp_path: Path) -> None:
    with session_folder() as folder:
        log = log_beside(folder)
        assert (folder.parent, folder.stat().st_mode & 0o777, log.stat().st_mode & 0o777) == (tmp_path, 0o700, 0o600)
        (folder / "spark").mkdir()
    assert list(tmp_path.iterdir()) == [log], "a log that is told to somebody goes by itself"


def test_a_session_clears_away_what_killed_ones_have_left_and_nothing_else(tmp_path: Path) -> None:
    with session_folder() as living:
        log = log_beside(living)
        gone = abandoned(tmp_path)
        kept = tmp_path / f"{PREFIX}zzzzzzzz.log"  # of a session that failed: its folder is gone
        kept.touch()
        for other in (f"{PREFIX}short", "kctl-other123", f"{PREFIX}abcd_123.tgz"):
            (tmp_path / other).mkdir()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (tmp_path / f"{PREFIX}linked_1").symlink_to(elsewhere)
        (tmp_path / f"{PREFIX}linked_1.log").touch()
        (tmp_path / f"{PREFIX}a_file_1").touch()
        before = set(tmp_path.iterdir())
        with session_folder() as folder:
            assert set(tmp_path.iterdir()) == before - {gone, gone.with_name(f"{gone.name}.log")} | {folder}
        assert living.exists()
        assert log.exists()


def test_those_of_other_users_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = abandoned(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert remove_abandoned(tmp_path) == []
    monkeypatch.undo()
    assert remove_abandoned(tmp_path) == [folder]


def test_a_folder_that_was_taken_for_abandoned_before_its_lock_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    removed: list[Path] = []

    def too_late(descriptor: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            shutil.rmtree(removed[0])
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with session_folder() as folder:
        assert folder.exists()
        assert folder != removed[0]
        assert remove_abandoned(tmp_path) == []


def test_where_there_are_no_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(_descriptor: int, _operation: int) -> None:
        raise OSError(95, "Operation not supported")

    folder = abandoned(tmp_path)
    monkeypatch.setattr(fcntl, "flock", unsupported)
    with session_folder() as ours:
        assert ours.exists()
    assert folder.exists()
