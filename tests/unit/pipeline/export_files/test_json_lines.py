"""JSON lines: the bytes of `kctl consume --output jsonl`, and back without loss."""

import json

import pyarrow as pa
import pytest

from kctl.cli.formats.texts import JsonForm
from kctl.pipeline.export_files.json_lines import SCHEMA, json_lines, read_json_lines
from kctl.pipeline.job_errors import ExportDataError

VALUES = [b"plain", b"", None, b'quo"te\\ \n\x00\x1f', "ü€\U0001f600\u2028".encode(), b"\xff\xfe\x00", b"\xed\xa0\x80"]


def rows() -> pa.RecordBatch:
    made = [
        {
            "key": VALUES[-1 - at],
            "value": value,
            "topic": "t",
            "partition": 1,
            "offset": 2**62 + at,
            "timestamp": (-1 if at == 0 else 1_700_000_000_000 + at) * 1000,
            "headers": None if at % 2 else [{"key": "ü", "value": value}, {"key": "", "value": b"x"}],
        }
        for at, value in enumerate(VALUES)
    ]
    return pa.RecordBatch.from_pylist(made, SCHEMA)


def test_records_come_back_as_they_were() -> None:
    lines = json_lines(rows()).splitlines(keepends=True)
    assert pa.Table.from_batches(read_json_lines(lines, "file")).equals(pa.Table.from_batches([rows()]))


def test_values_are_written_as_the_command_line_writes_them() -> None:
    form = JsonForm(is_ascii=False)
    for line, value in zip(json_lines(rows()).splitlines(), VALUES, strict=True):
        assert b',"value":' + form.value(value) + b',"headers":' in line
        assert list(json.loads(line)) == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"topic":"t"}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":3,"value":null,"headers":[]}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":{"base64":"?"},"value":null,"headers":[]}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":"x","key":null,"value":null,"headers":[]}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":null,"value":null,"headers":[[1]]}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":null,"value":"\\ud800","headers":[]}',
        b'{"topic":"t","partition":"x","offset":1,"timestamp":1,"key":null,"value":null,"headers":[]}',
        b'{"topic":"t","partition":true,"offset":1,"timestamp":1,"key":null,"value":null,"headers":[]}',
        b'{"topic":"t","partition":0,"offset":true,"timestamp":1,"key":null,"value":null,"headers":[]}',
        b'{"topic":"\\ud800","partition":0,"offset":1,"timestamp":1,"key":null,"value":null,"headers":[]}',
        b'{"topic":"t","partition":0,"offset":1,"timestamp":1,"key":null,"value":null,"headers":[["\\ud800",null]]}',
        b"[" * 100_000,
    ],
)
def test_malformed_line_is_reported_with_its_number(line: bytes) -> None:
    good = json_lines(rows().slice(0, 1))
    with pytest.raises(ExportDataError, match=r"file, line 2"):
        list(read_json_lines([good, line], "file"))


def test_batches_end_by_the_size_of_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = json_lines(rows()).splitlines(keepends=True)
    monkeypatch.setattr("kctl.pipeline.export_files.json_lines.BATCH_BYTES", 1)
    assert [batch.num_rows for batch in read_json_lines(lines, "file")] == [1] * len(lines)
