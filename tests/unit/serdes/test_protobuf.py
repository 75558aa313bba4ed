"""ProtobufCodec: oneof, maps, well-known types, nested messages, imports."""

from contextlib import suppress
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st

from kctl.serdes.errors import DecodeError, EncodeError, SchemaError
from kctl.serdes.protobuf import ProtobufCodec, file_of

Field = descriptor_pb2.FieldDescriptorProto


def _field(message: Any, name: str, number: int, kind: int, **more: Any) -> None:
    message.field.add(name=name, number=number, type=kind, label=more.pop("label", Field.LABEL_OPTIONAL), **more)


def money() -> bytes:
    """A file that another imports."""
    file = descriptor_pb2.FileDescriptorProto(name="money.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Money")
    _field(message, "cents", 1, Field.TYPE_INT64)
    return file.SerializeToString()


def order() -> bytes:
    """A file with oneof, map, enum, nested messages and well-known types."""
    file = descriptor_pb2.FileDescriptorProto(name="default", package="shop", syntax="proto3")
    file.dependency.extend(["money.proto", "google/protobuf/timestamp.proto", "google/protobuf/struct.proto"])
    file.message_type.add(name="Empty")
    message = file.message_type.add(name="Order")
    _field(message, "id", 1, Field.TYPE_INT64)
    _field(message, "price", 2, Field.TYPE_MESSAGE, type_name=".shop.Money")
    message.oneof_decl.add(name="how")
    _field(message, "card", 3, Field.TYPE_STRING, oneof_index=0)
    _field(message, "cash", 4, Field.TYPE_BOOL, oneof_index=0)
    entry = message.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    _field(entry, "key", 1, Field.TYPE_INT32)
    _field(entry, "value", 2, Field.TYPE_BYTES)
    _field(message, "counts", 5, Field.TYPE_MESSAGE, type_name=".shop.Order.CountsEntry", label=Field.LABEL_REPEATED)
    _field(message, "at", 6, Field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp")
    _field(message, "extra", 7, Field.TYPE_MESSAGE, type_name=".google.protobuf.Struct")
    line = message.nested_type.add(name="Line")
    _field(line, "sku", 1, Field.TYPE_STRING)
    _field(message, "lines", 8, Field.TYPE_MESSAGE, type_name=".shop.Order.Line", label=Field.LABEL_REPEATED)
    _field(message, "weight", 9, Field.TYPE_DOUBLE)
    return file.SerializeToString()


FILES = [("money.proto", money()), ("", order())]
VALUE = {
    "id": "9007199254740993",
    "price": {"cents": "150"},
    "cash": True,
    "counts": {"-3": "AP8="},
    "at": "2026-01-02T03:04:05.000000006Z",
    "extra": {"a": [1.0, None, {"b": "c"}]},
    "lines": [{"sku": "x"}, {"sku": ""}],
    "weight": "NaN",
}


def test_message_of_every_kind_is_read_as_it_was_written() -> None:
    codec = ProtobufCodec(FILES, "shop.Order", is_framed=True)
    data = codec.encode(VALUE)
    assert data[:2] == b"\x02\x02"  # one index: the second message
    assert ProtobufCodec(FILES, is_framed=True).decode(data) == VALUE


def test_nested_message_has_two_indexes() -> None:
    codec = ProtobufCodec(FILES, "shop.Order.Line", is_framed=True)
    data = codec.encode({"sku": "a"})
    assert data == b"\x04\x02\x02\x0a\x01a"
    assert ProtobufCodec(FILES, is_framed=True).decode(data) == {"sku": "a"}


def test_fields_without_presence_are_written_with_their_default() -> None:
    decoded = ProtobufCodec(FILES, is_framed=True).decode(b"\x02\x02")
    assert decoded == {"id": "0", "counts": {}, "lines": [], "weight": 0.0}


def test_apicurios_type_name_stands_for_the_indexes() -> None:
    codec = ProtobufCodec(FILES, is_framed=True)
    message = codec.encode({})[1:]
    assert codec.decode(b"\x07\n\x05Order" + ProtobufCodec(FILES, "shop.Order", is_framed=False).encode(VALUE)) == VALUE
    assert codec.decode(b"\x07\n\x05Empty" + message) == {}
    for unknown in (b"\x07\n\x05Other", b"\x08\n\x05Order", b"\x07\n\x05Ord\xff\xff"):
        with pytest.raises(DecodeError):
            codec.decode(unknown + message)


def test_descriptor_set_needs_no_frame() -> None:
    both = descriptor_pb2.FileDescriptorSet()
    for _, content in FILES:
        both.file.append(descriptor_pb2.FileDescriptorProto.FromString(content))
    codec = ProtobufCodec.of_set(both.SerializeToString(), "shop.Order")
    assert codec.decode(codec.encode(VALUE)) == VALUE
    with pytest.raises(SchemaError, match=r"no message shop\.Nothing"):
        ProtobufCodec.of_set(both.SerializeToString(), "shop.Nothing")


def test_descriptor_set_without_files_or_messages_has_no_empty_hint() -> None:
    with pytest.raises(SchemaError, match="the schema contains no Protobuf file"):
        ProtobufCodec.of_set(b"", "shop.Order")
    empty = descriptor_pb2.FileDescriptorSet(file=[descriptor_pb2.FileDescriptorProto(name="f")])
    with pytest.raises(SchemaError, match=r"no message shop\.Order") as raised:
        ProtobufCodec.of_set(empty.SerializeToString(), "shop.Order")
    assert raised.value.hint == ""


@pytest.mark.parametrize(
    "value", [{"id": "x"}, {"nothing": 1}, [], None, {"card": "a", "cash": True}, {"counts": {"a": ""}}]
)
def test_value_that_does_not_fit_is_an_encode_error(value: Any) -> None:
    with pytest.raises(EncodeError):
        ProtobufCodec(FILES, "shop.Order", is_framed=True).encode(value)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_decode_errors(data: bytes) -> None:
    with suppress(DecodeError):
        ProtobufCodec(FILES, is_framed=True).decode(data)


def test_deep_message_is_a_decode_error() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="f", syntax="proto3")
    message = file.message_type.add(name="N")
    _field(message, "n", 1, Field.TYPE_MESSAGE, type_name=".N")
    codec = ProtobufCodec([("", file.SerializeToString())], is_framed=True)
    inner = b""
    for _ in range(5000):
        size, head = len(inner), b""
        while size > 127:
            head += bytes([size & 127 | 128])
            size >>= 7
        inner = b"\x0a" + head + bytes([size]) + inner
    with pytest.raises(DecodeError):
        codec.decode(b"\0" + inner)


@pytest.mark.parametrize("files", [[], [("", b"\xff")], [("", order())]])
def test_invalid_files_are_schema_errors(files: list[tuple[str, bytes]]) -> None:
    with pytest.raises(SchemaError):
        ProtobufCodec(files, is_framed=True)


def test_text_of_a_proto_file_is_refused_with_what_to_do() -> None:
    with pytest.raises(SchemaError, match="returned the Protobuf schema as text") as raised:
        file_of('syntax = "proto3";')
    assert "--protoset" in raised.value.hint


def test_names_of_a_schema_stay_in_the_line_of_its_error() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", dependency=["b\x1b[2J\nkctl: c"])
    with pytest.raises(SchemaError, match=r"b\\x1b\[2J\\x0akctl: c") as raised:
        ProtobufCodec([("a.proto", file.SerializeToString())], is_framed=True)
    assert str(raised.value).isprintable()


def wide(fields: int) -> ProtobufCodec:
    """Return the codec of a message with many messages of many fields, directly and in an Any."""
    file = descriptor_pb2.FileDescriptorProto(name="wide", package="w", syntax="proto3")
    file.dependency.append("google/protobuf/any.proto")
    many = file.message_type.add(name="Many")
    _field(many, "items", 1, Field.TYPE_MESSAGE, type_name=".w.Wide", label=Field.LABEL_REPEATED)
    _field(many, "any", 2, Field.TYPE_MESSAGE, type_name=".google.protobuf.Any")
    row = file.message_type.add(name="Wide")
    for number in range(fields):
        _field(row, f"f{number}", number + 1, Field.TYPE_INT32)
    return ProtobufCodec([("", file.SerializeToString())], "w.Many", is_framed=False)


@pytest.mark.parametrize("place", ["items", "any"])
def test_empty_messages_that_are_printed_with_many_fields_are_refused(place: str) -> None:
    codec = wide(2_000)
    items = b"\x0a\0" * 1_000
    name = b"x/w.Many"
    value = b"\x0a" + bytes([len(name)]) + name + b"\x12\xd0\x0f" + items
    data = items if place == "items" else b"\x12" + _length(len(value)) + value
    with pytest.raises(DecodeError, match="larger than 96 MiB as JSON"):
        codec.decode(data)
    assert len(codec.decode(items[:20])["items"]) == 10


def test_any_in_any_is_refused_if_it_is_deep() -> None:
    name, value = b"\x0a\x15x/google.protobuf.Any", b""
    for _ in range(150):
        value = name + b"\x12" + _length(len(value)) + value
    with pytest.raises(DecodeError):
        wide(1).decode(b"\x12" + _length(len(value)) + value)


def _length(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
