"""`kctl probe --diff`: two saved results of real probes."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl


@pytest.fixture
def before(bootstrap: str, tmp_path: Path) -> str:
    file = tmp_path / "before.json"
    file.write_bytes(kctl("probe", "-b", bootstrap, "--output", "json").stdout)
    return str(file)


def test_diff_prints_each_change_and_fails_only_with_strict(
    bootstrap: str, before: str, refused: str, tmp_path: Path
) -> None:
    after = tmp_path / "after.jsonl"
    after.write_bytes(kctl("probe", "-b", f"{bootstrap},{refused}", "--output", "jsonl").stdout)
    ended = kctl("probe", "--diff", before, str(after))
    assert (ended.code, ended.stderr) == (0, "")
    assert f"{refused}: new (failed in tcp (ConnectionRefused))" in ended.stdout.decode().splitlines()
    assert "finding: dead-bootstrap is new" in ended.stdout.decode().splitlines()
    assert kctl("probe", "--diff", before, str(after), "--strict").code == ExitCode.DEGRADED


def test_diff_of_a_result_with_itself_prints_no_difference(before: str) -> None:
    ended = kctl("probe", "--diff", before, before, "--strict")
    assert ended == (0, b"no difference\n", "")


def test_files_that_are_no_saved_results_are_refused_by_name(before: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"\xff\xfe")
    for file, code in ((other, ExitCode.DATA), (tmp_path / "missing", ExitCode.USAGE)):
        ended = kctl("probe", "--diff", before, str(file))
        assert (ended.code, ended.stdout) == (code, b"")
        assert str(file) in ended.stderr
        assert "Traceback" not in ended.stderr
