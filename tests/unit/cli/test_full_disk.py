"""Whatever writes a file ends with the exit code of a full disk, or with that of a file that may not be written."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.data_out import DataOut, StdoutFailed
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, exit_code, explain
from kctl.cli.formats.html_page import write_page
from kctl.cli.groups.files import write_offsets
from kctl.cli.partitions.plan_file import write_plan
from kctl.client.cluster import TopicPartition
from kctl.pipeline.job_errors import folder_error
from kctl.pipeline.object_store.object_files import Spill
from kctl.pipeline.targets import FileKind

TP = TopicPartition("t", 0)
WRITERS: list[Callable[[Path], None]] = [
    lambda path: write_page(path, "x"),
    lambda path: write_offsets(path, "g", {TP: 1}),
    lambda path: write_plan(path, {TP: (1,)}),
]
CODES = [
    (errno.ENOSPC, ExitCode.DISK),
    (errno.EDQUOT, ExitCode.DISK),
    (errno.EFBIG, ExitCode.DISK),
    (errno.EIO, ExitCode.DISK),
    (errno.EACCES, ExitCode.USAGE),
    (errno.EROFS, ExitCode.USAGE),
    (errno.EBADF, ExitCode.USAGE),
]


@pytest.mark.parametrize("write", WRITERS, ids=["page", "offsets", "plan"])
def test_file_on_a_full_disk_and_file_without_a_folder_have_exit_codes_of_their_own(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    for path, code in ((Path("/dev/full"), ExitCode.DISK), (tmp_path / "absent" / "file", ExitCode.USAGE)):
        with pytest.raises(CommandError, match=str(path)) as caught:
            write(path)
        assert caught.value.code is code


class Refusing:
    """A stdout that fails."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, _data: memoryview, /) -> int:
        raise OSError(self._number, os.strerror(self._number))

    def fileno(self) -> int:
        return 1


@pytest.mark.parametrize(("number", "code"), CODES)
def test_error_of_the_system_decides_the_exit_code(number: int, code: ExitCode) -> None:
    error = OSError(number, os.strerror(number))
    out = DataOut(Refusing(number))
    out.write(b"data")
    with pytest.raises(StdoutFailed) as caught:
        out.flush()
    assert explain(caught.value).code is code
    assert caught.value.with_result().code is code
    assert exit_code(folder_error("/data", error)) is code
    assert str(folder_error("/data", error)) == f"/data: {os.strerror(number)}"


def test_spill_on_a_full_disk_names_its_folder_and_the_setting_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    spill = Spill(FileKind("topic", "parquet", 1), 0, "run")
    failure = explain(spill.failed(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert (failure.code, failure.message) == (ExitCode.DISK, f"{spill.round_folder}: No space left on device")
    assert "spark.local.dir" in failure.hint
