"""ProtobufValues: types of messages, presence, well-known types, and versions by field numbers."""

from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2

from kctl.pipeline.decoding.protobuf_values import ProtobufValues
from kctl.serdes.errors import DecodeError, SchemaError
from kctl.serdes.protobuf import ProtobufCodec
from kctl.serdes.registry import PROTOBUF, Schema
from kctl.serdes.schema_store import Resolved

Field = descriptor_pb2.FieldDescriptorProto
STRING, INT32, INT64, UINT64, BYTES, BOOL = (
    Field.TYPE_STRING,
    Field.TYPE_INT32,
    Field.TYPE_INT64,
    Field.TYPE_UINT64,
    Field.TYPE_BYTES,
    Field.TYPE_BOOL,
)


def field(message: Any, name: str, number: int, kind: Any, of: str = "", **more: Any) -> None:
    label = more.pop("label", Field.LABEL_OPTIONAL)
    message.field.add(name=name, number=number, type=kind, type_name=of or None, label=label, **more)


def file_with(build: Any) -> bytes:
    file = descriptor_pb2.FileDescriptorProto(name="default", package="shop", syntax="proto3")
    file.dependency.extend(
        ["google/protobuf/timestamp.proto", "google/protobuf/struct.proto", "google/protobuf/wrappers.proto"]
    )
    build(file)
    return file.SerializeToString()


def order(file: Any) -> None:
    message = file.message_type.add(name="Order")
    field(message, "id", 1, INT64)
    field(message, "big", 2, UINT64)
    message.oneof_decl.add(name="how")
    field(message, "card", 3, STRING, oneof_index=0)
    field(message, "cash", 4, BOOL, oneof_index=0)
    entry = message.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    field(entry, "key", 1, INT32)
    field(entry, "value", 2, BYTES)
    many = Field.LABEL_REPEATED
    field(message, "counts", 5, Field.TYPE_MESSAGE, ".shop.Order.CountsEntry", label=many)
    field(message, "at", 6, Field.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    field(message, "extra", 7, Field.TYPE_MESSAGE, ".google.protobuf.Struct")
    field(message.nested_type.add(name="Line"), "sku", 1, STRING)
    field(message, "lines", 8, Field.TYPE_MESSAGE, ".shop.Order.Line", label=many)
    field(message, "next", 9, Field.TYPE_MESSAGE, ".shop.Order")
    field(message, "limit", 10, Field.TYPE_MESSAGE, ".google.protobuf.Int32Value")
    state = message.enum_type.add(name="State")
    state.value.add(name="NEW", number=0)
    state.value.add(name="PAID", number=1)
    field(message, "state", 11, Field.TYPE_ENUM, ".shop.Order.State")


def resolved(content: bytes) -> Resolved:
    return Resolved(Schema(PROTOBUF, b64encode(content).decode()))


ORDER = file_with(order)


def read(reader: bytes, writer: bytes, value: Any, message: str | None = None) -> Any:
    values = ProtobufValues(resolved(reader), message)
    data = ProtobufCodec([("", writer)], is_framed=True).encode(value)
    return pa.array([values.of_writer(resolved(writer))(data)], values.type).to_pylist()[0]


def test_every_kind_of_field_is_a_column_of_its_own_type() -> None:
    value = {
        "id": "-5",
        "big": str(2**64 - 1),
        "cash": False,
        "counts": {"-3": "AP8="},
        "at": "2026-01-02T03:04:05.000006Z",
        "extra": {"a": [1, None]},
        "lines": [{"sku": "x"}, {}],
        "next": {"id": "6"},
        "limit": 0,
        "state": "PAID",
    }
    found = read(ORDER, ORDER, value)
    assert found.pop("next").startswith('{"id":"6"')
    assert found == {
        "id": -5,
        "big": Decimal(2**64 - 1),
        "card": None,
        "cash": False,
        "counts": [(-3, b"\x00\xff")],
        "at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
        "extra": '{"a":[1.0,null]}',
        "lines": [{"sku": "x"}, {"sku": ""}],
        "limit": 0,
        "state": "PAID",
    }


def test_field_that_is_not_set_is_null_or_its_default() -> None:
    found = read(ORDER, ORDER, {})
    assert found == dict.fromkeys(found) | {"id": 0, "big": 0, "counts": [], "lines": [], "state": "NEW"}


def test_versions_are_read_by_field_numbers() -> None:
    def first(file: Any) -> None:
        message = file.message_type.add(name="Order")
        field(message, "number", 1, INT64)
        field(message, "gone", 2, STRING)

    def second(file: Any) -> None:
        message = file.message_type.add(name="Order")
        field(message, "id", 1, INT64)
        field(message, "note", 3, STRING)

    assert read(file_with(second), file_with(first), {"number": "5", "gone": "x"}) == {"id": 5, "note": ""}


def test_another_message_of_the_file_is_an_error_unless_it_is_named() -> None:
    def two(file: Any) -> None:
        field(file.message_type.add(name="First"), "a", 1, INT64)
        field(file.message_type.add(name="Second"), "b", 1, INT64)

    values = ProtobufValues(resolved(file_with(two)), None)
    data = b"\x02\x02\x08\x05"
    with pytest.raises(DecodeError, match=r"the Protobuf message shop\.Second, expected shop\.First"):
        values.of_writer(resolved(file_with(two)))(data)
    named = ProtobufValues(resolved(file_with(two)), "shop.Second")
    assert named.of_writer(resolved(file_with(two)))(data) == {"b": 5}
    with pytest.raises(SchemaError, match=r"no message shop\.Third"):
        ProtobufValues(resolved(file_with(two)), "shop.Third")
    with pytest.raises(DecodeError):
        named.of_writer(resolved(file_with(two)))(b"\x02\x02\x08")
