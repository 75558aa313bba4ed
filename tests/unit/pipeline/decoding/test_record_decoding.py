"""RecordDecoding: batches in which some records do not decode, with nothing lost and one request a schema."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from kctl.client.errors import ConnectionRefused
from kctl.pipeline.decoding.plan import DecodePlan, SidePlan
from kctl.pipeline.decoding.record_decoding import ERROR, DecodedTypes, RecordDecoding, types_of
from kctl.pipeline.record_columns import COLUMN_NAMES, REASON, schema_of
from kctl.serdes.avro import AvroCodec
from kctl.serdes.errors import DecodeError
from kctl.serdes.registry import AVRO, Schema
from kctl.serdes.schema_store import Resolved
from kctl.serdes.wire import write_frame
from tests.support.registry.in_memory import RegistryScene

V1 = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
V2 = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
ALL = (*COLUMN_NAMES, ERROR)


class Scene(RegistryScene):
    """A registry with two versions of a value's schema, and batches of raw records."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = [self.fake.add("t-value", json.dumps(each)) for each in (V1, V2)]
        reader = SidePlan(Resolved(Schema(AVRO, json.dumps(V2))), None)
        self.schemas = self.store()
        self.plan = DecodePlan(None, reader, (), ())

    def decoding(self, columns: Sequence[str] = ALL, pruned: DecodedTypes | None = None) -> RecordDecoding:
        return RecordDecoding(self.plan, self.schemas, columns, pruned)

    def value(self, version: int, value: Any) -> bytes:
        return write_frame(self.ids[version - 1], AvroCodec(json.dumps((V1, V2)[version - 1])).encode(value))


def raw(values: Sequence[bytes | None], columns: Sequence[str] = COLUMN_NAMES, first: int = 10) -> pa.RecordBatch:
    count = len(values)
    given = {
        "key": [b"k%d" % row for row in range(count)],
        "value": list(values),
        "topic": ["t"] * count,
        "partition": [0] * count,
        "offset": list(range(first, first + count)),
        "timestamp": [0] * count,
        "timestampType": [0] * count,
        "headers": [None] * count,
    }
    schema = schema_of(columns)
    return pa.RecordBatch.from_arrays([pa.array(given[each.name], each.type) for each in schema], schema=schema)


def test_two_versions_and_a_tombstone_are_read_by_the_last_version() -> None:
    scene = Scene()
    values = [scene.value(1, {"id": 1}), None, scene.value(2, {"id": 2, "note": "x"}), scene.value(1, {"id": 3})]
    found = scene.decoding().with_errors(raw(values))
    assert found.column("value").to_pylist() == [
        {"id": 1, "note": None},
        None,
        {"id": 2, "note": "x"},
        {"id": 3, "note": None},
    ]
    assert found.column(ERROR).null_count == 4
    assert scene.http.asked == ["GET one /schemas/ids/1", "GET one /schemas/ids/2"]


def test_records_that_do_not_decode_keep_their_place_offset_reason_and_bytes() -> None:
    scene = Scene()
    values = [b"plain", scene.value(1, {"id": 1}), b"\0\0\0\0\1\xff", b"\0\0\0\0\x63\2", scene.value(1, {"id": 2})]
    found = scene.decoding().with_errors(raw(values))
    assert found.column("value").to_pylist() == [None, {"id": 1, "note": None}, None, None, {"id": 2, "note": None}]
    errors = found.column(ERROR).to_pylist()
    assert [each and (each["offset"], each["value"], each["key"]) for each in errors] == [
        (10, values[0], b"k0"),
        None,
        (12, values[2], b"k2"),
        (13, values[3], b"k3"),
        None,
    ]
    assert "value: the bytes have no schema ID" in errors[0]["reason"]
    assert "value: not Avro of this schema" in errors[2]["reason"]
    assert "Schema 99 not found" in errors[3]["reason"]


def test_without_the_column_of_errors_a_record_that_does_not_decode_is_an_error() -> None:
    decoding = Scene().decoding(("offset", "value"))
    with pytest.raises(DecodeError, match="cannot decode the record at offset 11: value: the bytes have no schema ID"):
        decoding.with_errors(raw([None, b"plain"], decoding.raw_columns))


def test_split_takes_out_what_does_not_decode_with_its_bytes() -> None:
    scene = Scene()
    values = [b"plain", scene.value(1, {"id": 1}), None]
    decoded, errors = scene.decoding(COLUMN_NAMES).split(raw(values))
    assert decoded.column("value").to_pylist() == [{"id": 1, "note": None}, None]
    assert decoded.column("offset").to_pylist() == [11, 12]
    assert errors is not None
    assert errors.select(["offset", "value", "key"]).to_pylist() == [{"offset": 10, "value": b"plain", "key": b"k0"}]
    assert "have no schema ID" in errors.column(REASON)[0].as_py()
    assert scene.decoding(COLUMN_NAMES).split(raw(values[1:]))[1] is None


def test_registry_that_is_down_is_no_error_of_a_record() -> None:
    scene = Scene()
    scene.http.failures["one"] = ConnectionRefused("connection refused")
    with pytest.raises(ConnectionRefused):
        scene.decoding().with_errors(raw([scene.value(1, {"id": 1})]))


def test_value_that_does_not_fit_its_column_is_an_error_of_its_record_alone() -> None:
    scene = Scene()
    day = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
    }
    number = scene.fake.add("t-value", json.dumps(day))
    scene.plan = DecodePlan(None, SidePlan(Resolved(Schema(AVRO, json.dumps(day))), None), (), ())
    codec = AvroCodec(json.dumps(day))
    values = [write_frame(number, codec.encode({"at": at})) for at in (1, 2**62, 3)]
    found = scene.decoding().with_errors(raw(values))
    assert [each is None for each in found.column("value").to_pylist()] == [False, True, False]
    assert "does not fit the column" in found.column(ERROR)[1].as_py()["reason"]


def test_columns_that_are_read_are_those_that_are_wanted() -> None:
    scene = Scene()
    assert scene.decoding(("partition", "key")).raw_columns == ("key", "partition")
    assert scene.decoding(("value",)).raw_columns == ("value", "headers")
    assert scene.decoding(("value", ERROR)).raw_columns == ("key", "value", "offset", "headers")


def test_pruned_struct_has_the_fields_that_are_wanted() -> None:
    scene = Scene()
    assert types_of(scene.plan).value == pa.struct([("id", pa.int64()), ("note", pa.string())])
    pruned = scene.decoding(("value",), DecodedTypes(None, pa.struct([("note", pa.string())])))
    found = pruned.with_errors(raw([scene.value(2, {"id": 2, "note": "x"})], pruned.raw_columns))
    assert found.to_pylist() == [{"value": {"note": "x"}}]


def test_schema_in_a_header_is_used() -> None:
    scene = Scene()
    payload = scene.value(1, {"id": 7})[5:]
    batch = raw([payload, scene.value(1, {"id": 8})])
    header = [[("__value_schema_id", b"\0\0\0\0\1")], None]
    headers = pa.array(
        [None if row is None else [{"key": k, "value": v} for k, v in row] for row in header],
        schema_of(["headers"])[0].type,
    )
    batch = batch.set_column(batch.schema.names.index("headers"), schema_of(["headers"])[0], headers)
    assert scene.decoding().with_errors(batch).column("value").to_pylist() == [
        {"id": 7, "note": None},
        {"id": 8, "note": None},
    ]
