"""Files of offsets: Kafka's own CSV and JSON, and every way in which they can be wrong."""

import json
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.groups import files as groups_files
from kctl.cli.groups.files import read_offsets, write_offsets
from kctl.client.cluster import TopicPartition

OFFSETS = {TopicPartition("a", 0): 5, TopicPartition('odd,"name"', 12): 2**63 - 1}


@pytest.mark.parametrize("name", ["offsets.csv", "offsets.json", "offsets"])
def test_written_file_of_offsets_is_read_back(tmp_path: Path, name: str) -> None:
    write_offsets(tmp_path / name, "g", OFFSETS)
    assert read_offsets(tmp_path / name, "g") == OFFSETS


def test_csv_is_that_of_kafkas_own_tool(tmp_path: Path) -> None:
    write_offsets(tmp_path / "o.csv", "g", {TopicPartition("t", 1): 7})
    assert (tmp_path / "o.csv").read_text() == "t,1,7\n"


@pytest.mark.parametrize(
    "text",
    [
        "t,1,7",
        "topic,partition,offset\nt,1,7\n",
        "group,topic,partition,offset\ng,t,1,7\nother,t,1,9\n",
        '\ufeff"t", 1 , 7 \r\n\r\n',
        '{"v": 1, "offsets": [{"topic": "t", "partition": 1, "offset": 7}]}',
        ' [{"topic": "t", "partition": 1, "offset": 7}, {"group": "other", "topic": "t", "partition": 1, "offset": 9}]',
    ],
)
def test_read_offsets_accepts_csv_and_json(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text, encoding="utf-8")
    assert read_offsets(file, "g") == {TopicPartition("t", 1): 7}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"other,t,1,7\n", "no offsets of group g found"),
        (b"t,1,7\nt,2\n", "line 2: found 2 fields: use topic,partition,offset"),
        (b"t,x,7\n", "line 1: invalid partition 'x'"),
        (b"t,2147483648,7\n", "line 1: invalid partition 2147483648"),
        (b"t,1,-7\n", "line 1: invalid offset '-7'"),
        (b"t,1,9223372036854775808\n", "invalid offset "),
        (b"t,1," + b"9" * 5000, "invalid offset "),
        (b"t," + b"9" * 5000 + b",1", "invalid partition "),
        (b",1,7\n", "invalid topic ''"),
        (b"t,1,7\nt,1,8\n", "line 2: partition t-1 has two offsets: 7 and 8"),
        (b'"t,1,7\n', "line 1: unexpected end of data"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"v": 1}', 'the list "offsets" is missing'),
        (b'{"group": "h", "offsets": []}', "the file has offsets of group h, not g"),
        (b'{"group": "' + b"h" * 5000 + b'", "offsets": []}', "the file has offsets of group hhh"),
        (b'[{"topic": ["' + b"t" * 5000 + b'"], "partition": 1, "offset": 7}]', "invalid topic "),
        (b'[{"topic": "\\ud800", "partition": 1, "offset": 7}]', r"offsets[0]: invalid topic '\ud800'"),
        (b"\x1b[31m,1,7\n", r"line 1: invalid topic '\x1b[31m'"),
        (b"t" * 250 + b",1,7\n", "invalid topic "),
        (b'[{"topic": "t", "partition": 1, "offset": -' + b"9" * 4000 + b"}]", "invalid offset "),
        (b"[7]", "offsets[0]: expected an object"),
        (b'[{"topic": "t", "partition": true, "offset": 7}]', "offsets[0]: invalid partition True"),
        (b'[{"topic": "t", "partition": 1}]', "offsets[0]: invalid offset None"),
    ],
)
def test_malformed_file_of_offsets_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(CommandError) as caught:
        read_offsets(file, "g")
    assert caught.value.code is ExitCode.USAGE
    assert words in str(caught.value)
    assert len(str(caught.value)) < len(str(file)) + 200
    assert str(file) in str(caught.value)


def test_files_that_cannot_be_read_or_written_or_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="cannot read"):
        read_offsets(tmp_path / "nothing", "g")
    with pytest.raises(CommandError, match="cannot write"):
        write_offsets(tmp_path / "no" / "file.csv", "g", OFFSETS)
    monkeypatch.setattr(groups_files, "LARGEST_FILE_BYTES", 10)
    (tmp_path / "big").write_text("t,1,7\nt,2,7\n")
    with pytest.raises(CommandError, match="larger than 10 bytes"):
        read_offsets(tmp_path / "big", "g")


def test_json_says_whose_it_is(tmp_path: Path) -> None:
    write_offsets(tmp_path / "o.json", "g", {TopicPartition("t", 1): 7})
    assert json.loads((tmp_path / "o.json").read_text()) == {
        "v": 1, "group": "g", "offsets": [{"topic": "t", "partition": 1, "offset": 7}],
    }  # fmt: skip
