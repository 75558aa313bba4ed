"""Records for tests, from plain values."""

import pytest

from kctl.client.records import Record
from kctl.testing.records import record


def test_record_of_strings_is_equal_to_a_consumed_one() -> None:
    made = record("2 apples", key="ann", topic="orders", partition=2, offset=7, headers={"trace": "a1"}, timestamp_ms=5)
    assert made == Record.of("orders", 2, 7, key=b"ann", value=b"2 apples", headers=[("trace", b"a1")], timestamp_ms=5)


def test_record_keeps_bytes_nulls_and_repeated_headers() -> None:
    made = record(b"\xff", headers=[("h", None), ("h", b"2")])
    assert (made.value, made.key, made.headers) == (b"\xff", None, (("h", None), ("h", b"2")))
    assert (made.topic, made.partition, made.offset, made.timestamp_ms) == ("topic", 0, 0, 0)


def test_value_of_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="value must be a string, bytes, or None, not int"):
        record(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="header 'h' must be"):
        record("", headers={"h": 1})  # type: ignore[arg-type]
