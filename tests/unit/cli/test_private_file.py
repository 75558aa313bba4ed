"""Files that hold what others may not read."""

import os
from pathlib import Path

import pytest

from kctl.cli.private_file import open_private


def write(path: str, data: bytes) -> None:
    with open(open_private(path), "wb") as file:
        file.write(data)


def test_private_file_is_0600_whatever_the_umask_and_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "x"
    before = os.umask(0)
    try:
        write(str(path), b"one")
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        write(str(path), b"2")
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o777, path.read_bytes()) == (0o600, b"2")


@pytest.mark.parametrize("target", ["victim", "nowhere"])
def test_private_file_follows_no_symbolic_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "victim").write_bytes(b"keep")
    (tmp_path / "link").symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="a symbolic link, which is not followed"):
        open_private(str(tmp_path / "link"))
    assert (tmp_path / "victim").read_bytes() == b"keep"
    assert not (tmp_path / "nowhere").exists()


def test_private_file_may_be_a_device_or_an_open_descriptor(tmp_path: Path) -> None:
    write("/dev/null", b"x")
    reader, writer = os.pipe()
    try:
        write(f"/dev/fd/{writer}", b"x")
        assert os.read(reader, 10) == b"x"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe without a reader"):
        open_private(str(tmp_path / "pipe"))
