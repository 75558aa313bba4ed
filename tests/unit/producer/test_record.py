import pytest

from kctl.client.producer.record import Headers, checked_record, checked_size_bytes
from kctl.client.records import RecordBatchBuilder


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (None, None, ()),
        (b"", b"", ()),
        (b"k" * 300, b"v" * 70_000, ()),
        (b"k", b"v", [("é" * 50, None), ("", b"x" * 200)]),
    ],
)
def test_no_batch_of_one_is_larger_than_the_bound(key: bytes | None, value: bytes | None, headers: Headers) -> None:
    builder = RecordBatchBuilder()
    builder.try_append(key, value, headers, 2**62)
    assert len(builder.build()) <= checked_size_bytes("t", value, key, None, headers)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("", b"v", None, None, (), None), "topic"),
        (("t", "v", None, None, (), None), "value must be bytes"),
        (("t", b"v", "k", None, (), None), "key must be bytes"),
        (("t", b"v", None, -1, (), None), "partition"),
        (("t", b"v", None, "0", (), None), "partition"),
        (("\ud800", b"v", None, None, (), None), "topic"),
        (("t", b"v", None, None, (), -(2**63) - 1), "timestamp_ms"),
        (("t", b"v", None, None, (), 2**63), "timestamp_ms"),
        (("t", b"v", None, None, (), 2**70), "timestamp_ms"),
        (("t", b"v", None, None, [("h", "x")], None), "header 'h'"),
        (("t", b"v", None, None, [(b"h", b"x")], None), "header"),
        (("t", b"v", None, None, ["hx"], None), "header"),
        (("t", b"v", None, None, [("\ud800", b"x")], None), "header name"),
    ],
)
def test_value_that_no_record_can_have_is_named(arguments: tuple[object, ...], what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=what):
        checked_record(*arguments)  # type: ignore[arg-type]  # the wrong types are the point


def test_record_that_passes_the_checks_can_be_encoded() -> None:
    headers = [("\udcff as read", b"x"), ("é", None)]
    size_bytes = checked_record("é", b"v", None, None, headers, 2**63 - 1)[-1]
    builder = RecordBatchBuilder()
    builder.try_append(None, b"v", headers, 2**63 - 1)
    assert len(builder.build()) <= size_bytes
