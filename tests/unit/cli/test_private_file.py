"""Files that hold what others may not read."""

import ast
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.failures import CommandError
from kctl.cli.formats.html_page import write_page
from kctl.cli.groups.files import write_offsets
from kctl.cli.partitions.plan_file import write_plan
from kctl.cli.private_file import open_private
from kctl.client.cluster import TopicPartition
from tests.unit.source_trees import ROOT, nodes


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
    with pytest.raises(OSError, match="symbolic links are not followed"):
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
    with pytest.raises(OSError, match="the pipe has no reader"):
        open_private(str(tmp_path / "pipe"))


WRITERS: dict[str, Callable[[Path], None]] = {
    "--html": lambda path: write_page(path, "<html>"),
    "reset-offsets --export": lambda path: write_offsets(path, "g", {TopicPartition("t", 0): 1}),
    "partitions plan": lambda path: write_plan(path, {TopicPartition("t", 0): (1,)}),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_written_file_is_private_and_a_link_is_refused(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(CommandError, match="symbolic links are not followed"):
        write(tmp_path / "link")
    assert victim.read_text() == "kept"


def test_every_file_of_a_command_is_written_by_a_function_that_refuses_links() -> None:
    """Files of the user's configuration, and those of jobs, have rules of their own."""
    writing = {
        str(file.relative_to(ROOT))
        for file, module in nodes().items()
        if file.is_relative_to(ROOT / "kctl" / "cli")
        for node in module
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("write_text", "write_bytes") and ast.unparse(node.func.value) != "formatter"
    }
    assert writing == set()
