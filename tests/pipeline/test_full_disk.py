"""An export to a disk that is full or cannot be written: told in a line, and gone on with."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import fill
from tests.cli.processes import KCTL, environment
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool

JOB_BOUND_S = bound(300)
OWN_MOUNTS = ("unshare", "--map-root-user", "--mount", "sh", "-c")


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        fill(served.bootstrap, "t", {0: 3000})
        yield served.bootstrap


def _on_a_disk(folder: Path, script: str, *export: str) -> list[tuple[int, str]]:
    """Run a script with a file system of its own at `folder`; return code and stderr of each `run` in it.

    In the script `NAME=1 run "$@"` exports, and keeps what came of it under that name.
    """
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare` (package util-linux)")
    disk, kept = folder / "disk", folder / "kept"
    disk.mkdir()
    kept.mkdir()
    run = (
        f'set -e; disk={disk}; run() {{ code=0; "$@" 2>{kept}/$NAME.err || code=$?; echo $code >{kept}/$NAME.code; }}; '
    )
    ended = subprocess.run(
        [*OWN_MOUNTS, run + script, "sh", *KCTL, "pipeline", "export", "t", "--to", f"{disk}/x", *export],
        env=environment(),
        capture_output=True,
        timeout=JOB_BOUND_S,
        check=False,
    )
    if b"mount: " in ended.stderr or b"unshare: " in ended.stderr:
        pytest.skip(f"no file systems of our own here: {ended.stderr.decode().strip()}")
    assert ended.returncode == 0, ended.stderr
    codes = sorted(kept.glob("*.code"))
    return [(int(code.read_text()), code.with_suffix(".err").read_text()) for code in codes]


def test_a_full_disk_is_told_and_with_more_room_the_export_goes_on(bootstrap: str, tmp_path: Path) -> None:
    script = """
    mount -t tmpfs -o size=4k none $disk
    NAME=1 run "$@"
    test -z "$(find $disk/x -name '*.parquet' -o -name '*.json')"
    mount -o remount,size=1m $disk
    NAME=2 run "$@"
    test "$(find $disk/x -name '*.parquet' | wc -l)" = 1
    test "$(find $disk/x -name '*.json' | wc -l)" = 1
    """
    full, roomy = _on_a_disk(tmp_path, script, "-b", bootstrap, "--master", "local[1]")
    assert full[0] == ExitCode.DISK
    assert full[1].splitlines()[-1].startswith(f"kctl pipeline: {tmp_path}/disk/x: ")
    assert full[1].endswith("No space left on device\n")
    assert "Traceback" not in full[1]
    assert roomy[0] == ExitCode.OK, roomy[1]


def test_a_disk_that_is_only_read_is_told_before_spark_starts(bootstrap: str, tmp_path: Path) -> None:
    (only,) = _on_a_disk(tmp_path, 'mount -t tmpfs -o ro none $disk; NAME=1 run "$@"', "-b", bootstrap)
    assert only[0] == ExitCode.USAGE
    assert only[1] == f"kctl pipeline: planning\nkctl pipeline: {tmp_path}/disk/x: Read-only file system\n"
