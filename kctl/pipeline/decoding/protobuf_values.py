"""ProtobufValues: Protobuf messages as Arrow structs by the descriptor of the reader's schema.

Protobuf identifies fields by number, so one descriptor reads all versions: unknown fields are dropped, and missing
fields have defaults. A field with presence is null if it is unset, a wrapper becomes its value, and timestamps are
instants. `google.protobuf.Struct`, `Value`, `ListValue` and `Any`, recursive messages, and messages without fields are
JSON strings.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kctl.pipeline.decoding.value_reader import Read, TypeBudget, list_of
from kctl.serdes.errors import DecodeError
from kctl.serdes.json_text import show_json
from kctl.serdes.protobuf import ProtobufCodec, file_of
from kctl.serdes.schema_store import Resolved

Get = Callable[[Any], Any]
_SCALARS = {  # by FieldDescriptor.cpp_type
    1: pa.int32(),
    2: pa.int64(),
    3: pa.int64(),
    4: pa.decimal128(20, 0),
    5: pa.float64(),
    6: pa.float32(),
    7: pa.bool_(),
    9: pa.string(),
}
_BYTES = 12  # FieldDescriptor.type of bytes
_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_AS_JSON = {f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "Any")}
_TIMESTAMP = "google.protobuf.Timestamp"


class _Part:
    """Arrow type of a field or message. `get` converts its values; None leaves them unchanged."""

    def __init__(self, type_: pa.DataType, get: Get | None = None) -> None:
        self.type = type_
        self.get = get


class ProtobufValues:
    """Reader of values with one message of a Protobuf file.

    Args:
        message: full name of the message. None for the first message of the file.

    Attributes:
        type: Arrow type of all values.

    Raises: SchemaError: the schema is invalid or does not have the message. LibraryMissingError.
    """

    def __init__(self, reader: Resolved, message: str | None) -> None:
        self._codec = _codec_of(reader)
        self._descriptor = self._codec.descriptor(message)
        self._budget = TypeBudget("Protobuf")
        self._open: set[str] = set()
        part = self._message(self._descriptor, 0)
        self.type, self._get = part.type, part.get

    def of_writer(self, writer: Resolved) -> Read:
        """Return the reader of a writer's payloads, which begin with message indexes."""
        codec = _codec_of(writer)
        wanted, get, parse = self._descriptor.full_name, self._get, self._codec.parser(self._descriptor)

        def read(data: bytes) -> Any:
            descriptor, payload = codec.split(data)
            name = descriptor.full_name
            if name != wanted:
                raise DecodeError(f"the bytes contain the Protobuf message {name}, expected {wanted}")
            try:
                found = parse(payload)
                return found if get is None else get(found)
            except Exception as e:  # noqa: BLE001 - what the library raises for hostile messages is not documented
                raise DecodeError(
                    f"the bytes are not a Protobuf message of this schema: {str(e) or type(e).__name__}"[:300]
                ) from None

        return read

    # --- types ------------------------------------------------------------------------------------------------------

    def _message(self, descriptor: Any, level: int) -> _Part:
        self._budget.spend(level)
        name = descriptor.full_name
        if name == _TIMESTAMP:
            return _Part(pa.timestamp("us", "UTC"), lambda value: value.seconds * 1_000_000 + value.nanos // 1000)
        if name in _WRAPPERS:
            inner = self._value(descriptor.fields_by_name["value"], level)
            convert = inner.get
            return _Part(inner.type, lambda value: value.value if convert is None else convert(value.value))
        if name in _AS_JSON or name in self._open or not descriptor.fields:
            return _Part(pa.string(), self._json_text)
        return self._struct(descriptor, level)

    def _struct(self, descriptor: Any, level: int) -> _Part:
        self._open.add(descriptor.full_name)
        parts = [(field.name, self._field(field, level + 1)) for field in descriptor.fields]
        self._open.discard(descriptor.full_name)
        gets = [(name, part.get) for name, part in parts]

        def get(value: Any) -> dict[str, Any]:
            return {name: each(value) for name, each in gets}  # type: ignore[misc]  # every field has a `get`

        return _Part(pa.struct([pa.field(name, part.type) for name, part in parts]), get)

    def _field(self, field: Any, level: int) -> _Part:
        """Return the part of a field, with a `get` that takes the message."""
        name = field.name
        message = field.message_type
        if message is not None and message.GetOptions().map_entry:
            return self._map(name, message, level)
        value = self._value(field, level)
        convert = value.get
        if field.is_repeated:
            if convert is None:
                return _Part(list_of(value.type), lambda owner: list(getattr(owner, name)))
            return _Part(list_of(value.type), lambda owner: [convert(each) for each in getattr(owner, name)])
        if not field.has_presence:
            if convert is None:
                return _Part(value.type, lambda owner: getattr(owner, name))
            return _Part(value.type, lambda owner: convert(getattr(owner, name)))
        if convert is None:
            return _Part(value.type, lambda owner: getattr(owner, name) if owner.HasField(name) else None)
        return _Part(value.type, lambda owner: convert(getattr(owner, name)) if owner.HasField(name) else None)

    def _map(self, name: str, entry: Any, level: int) -> _Part:
        key, value = (self._value(entry.fields_by_name[each], level) for each in ("key", "value"))
        is_message = entry.fields_by_name["value"].message_type is not None
        convert = value.get or (lambda each: each)

        def get(owner: Any) -> list[tuple[Any, Any]]:
            found = getattr(owner, name)
            return [(each, convert(found[each])) for each in found] if is_message or value.get else list(found.items())

        return _Part(pa.map_(key.type, value.type), get)

    def _value(self, field: Any, level: int) -> _Part:
        """Return the part of a field, with a `get` that takes one value of the field."""
        if field.message_type is not None:
            return self._message(field.message_type, level)
        self._budget.spend(level)
        if field.enum_type is not None:
            names = {each.number: each.name for each in field.enum_type.values}
            return _Part(pa.string(), lambda value: names.get(value) or str(value))
        if field.type == _BYTES:
            return _Part(pa.binary())
        return _Part(_SCALARS[field.cpp_type])

    def _json_text(self, value: Any) -> str:
        return show_json(self._codec.to_json(value))


def _codec_of(schema: Resolved) -> ProtobufCodec:
    files = [(name, file_of(each.text)) for name, each in schema.dependencies]
    return ProtobufCodec([*files, ("", file_of(schema.schema.text))], is_framed=True)
