"""RecordFilter: each condition alone and all together, and what is no condition."""

import pyarrow as pa
import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import RecordDataError
from kctl.pipeline.record_columns import HEADERS
from kctl.pipeline.record_filter import RecordFilter

BATCH = pa.record_batch(
    {
        "key": pa.array([b"a-1", None, b"b-2", b"\xff"], pa.binary()),
        "value": pa.array([b'{"n": 1}', b'{"n": 2}', b"{}", b"{}"], pa.binary()),
        "topic": pa.array(["t"] * 4, pa.string()),
        "partition": pa.array([0] * 4, pa.int32()),
        "offset": pa.array([10, 11, 13, 14], pa.int64()),
        "timestamp": pa.array([1000, 2000, 3000, 4000], pa.timestamp("us", "UTC")),
        "headers": pa.array(
            [[{"key": "h", "value": b"x"}], None, [{"key": "h", "value": b"y"}], [{"key": "i", "value": None}]], HEADERS
        ),
    }
)


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (RecordFilter(), [10, 11, 13, 14]),
        (RecordFilter(since_ms=2), [11, 13, 14]),
        (RecordFilter(until_ms=2), [10]),
        (RecordFilter(since_ms=2, until_ms=4), [11, 13]),
        (RecordFilter(key="^[ab]"), [10, 13]),
        (RecordFilter(headers=(("h", None),)), [10, 13]),
        (RecordFilter(headers=(("h", "y"),)), [13]),
        (RecordFilter(headers=(("i", ""),)), []),
        (RecordFilter(headers=(("h", None), ("i", None))), []),
        (RecordFilter(jq="(.value | fromjson | .n) == 2"), [11]),
        (RecordFilter(jq='select(.headers[][0] == "h")'), [10, 13]),
        (RecordFilter(jq='.key | objects | .base64 == "/w=="'), [14]),
        (RecordFilter(jq="empty"), []),
        (RecordFilter(jq=".key"), [10, 13, 14]),
        (RecordFilter(since_ms=1, until_ms=5, key="b", headers=(("h", "y"),), jq=".offset == 13"), [13]),
    ],
)
def test_records_that_are_wanted(wanted: RecordFilter, offsets: list[int]) -> None:
    wanted.check()
    assert wanted.wanted(BATCH).column("offset").to_pylist() == offsets


@pytest.mark.parametrize(
    "wrong",
    [
        RecordFilter(key="("),
        RecordFilter(key="(?u)x"),
        RecordFilter(key="a{99999999999}"),
        RecordFilter(key="(" * 3000 + ")" * 3000),
        RecordFilter(key="\udcff"),
        RecordFilter(headers=(("h", "\udcff"),)),
        RecordFilter(jq="select("),
        RecordFilter(jq='. == "\udcff"'),
    ],
    ids=lambda each: repr(each)[:60],
)
def test_condition_that_does_not_parse_is_refused(wrong: RecordFilter) -> None:
    with pytest.raises(ConfigError):
        wrong.check()


def test_a_program_that_fails_names_the_record() -> None:
    with pytest.raises(RecordDataError, match=r"cannot evaluate --jq on t-0 offset 13: .*number"):
        RecordFilter(jq=".offset | if . == 13 then . + {} else . end").wanted(BATCH)
