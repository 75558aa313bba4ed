"""Files that commands read whole: what is too large, missing or on stdin."""

import io
from pathlib import Path

import pytest

from kctl.cli.document_file import STDIN, read_document
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError


def test_file_of_the_largest_size_is_read_and_a_larger_one_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    assert read_document(file, 5) == b"12345"
    with pytest.raises(CommandError) as caught:
        read_document(file, 4)
    assert (str(caught.value), caught.value.code) == (f"{file}: the file is larger than 4 bytes", ExitCode.USAGE)


def test_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "missing", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(CommandError) as caught:
            read_document(path, 5)
        assert (str(caught.value), caught.value.code) == (f"cannot read {path}: {why}", ExitCode.USAGE)


@pytest.mark.parametrize("content", [b"", b" \n\t"])
def test_empty_file_is_named_and_not_parsed(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    with pytest.raises(CommandError) as caught:
        read_document(file, 5)
    assert (str(caught.value), caught.value.code) == (f"{file}: the file is empty", ExitCode.USAGE)
    with pytest.raises(CommandError, match=r"^stdin: the file is empty$"):
        read_document(STDIN, 5, io.BytesIO(content))


def test_stdin_is_read_in_place_of_a_dash_under_the_same_limit() -> None:
    assert read_document(STDIN, 5, io.BytesIO(b"12345")) == b"12345"
    with pytest.raises(CommandError, match=r"^stdin: the file is larger than 4 bytes$"):
        read_document(STDIN, 4, io.BytesIO(b"12345"))


def test_dash_is_a_file_where_stdin_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match="cannot read -: No such file"):
        read_document(STDIN, 5)
