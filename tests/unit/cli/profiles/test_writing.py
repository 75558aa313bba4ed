"""Files are replaced whole, kept private, and by one writer at a time; tests/cli/test_profile_crash.py kills it."""

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.profiles.writing import LOCK_LIMIT_MS, replace_file
from kctl.client.clock import ManualClock
from kctl.client.errors import ConfigError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "config" / "kctl" / "config.toml"
    assert replace_file(path, lambda before: b"new" if before is None else b"?") == b"new"
    assert path.read_bytes() == b"new"
    assert (_mode(path), _mode(path.parent)) == (0o600, 0o700)


def test_a_file_open_to_others_is_private_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replace_file(path, lambda before: (before or b"") + b" and new")
    assert path.read_bytes() == b"old and new"
    assert _mode(path) == 0o600
    assert os.listdir(tmp_path) == ["f"]


def test_an_error_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def refuse(before: bytes | None) -> bytes:
        raise ConfigError("no")

    with pytest.raises(ConfigError):
        replace_file(path, refuse)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles" / "f", tmp_path / "f"
    real.write_bytes(b"old")
    link.symlink_to(real)
    replace_file(link, lambda _: b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_files_of_killed_writers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".f.abcdefgh", ".f.bak", ".g.abcdefgh"):
        (tmp_path / name).touch()
    replace_file(tmp_path / "f", lambda _: b"")
    assert sorted(os.listdir(tmp_path)) == [".f.bak", ".g.abcdefgh", "f"]


def test_a_writer_waits_for_another_and_not_for_ever(tmp_path: Path) -> None:
    class Jumping(ManualClock):
        __slots__ = ()

        def now_ms(self) -> int:
            self.advance(LOCK_LIMIT_MS // 2)
            return super().now_ms()

    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(ConfigError, match="another process has locked the file for 5 s"):
        replace_file(tmp_path / "f", lambda _: b"", Jumping())
    os.close(other)
    replace_file(tmp_path / "f", lambda _: b"")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"cannot write .*file/below/f: Not a directory"):
        replace_file(tmp_path / "file" / "below" / "f", lambda _: b"")
    with pytest.raises(CommandError, match=r"cannot write .*: Is a directory") as caught:
        replace_file(tmp_path, lambda _: b"")
    assert caught.value.code is ExitCode.USAGE


def test_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_file(tmp_path / "f", lambda _: b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CommandError, match=r"cannot write .*f: No space left on device") as caught:
        replace_file(tmp_path / "f", lambda _: b"new")
    assert caught.value.code is ExitCode.DISK
    assert [each.name for each in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"old"
