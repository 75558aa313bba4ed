"""ProtobufCodec: conversion between Protobuf messages and JSON values, by the protobuf package, without a compiler.

Files are FileDescriptorProtos, from the registry or from the FileDescriptorSet of `protoc --descriptor_set_out
--include_imports` or `buf build`. Field names in JSON are as in the file, and fields without presence are always
written.

Source: protobuf.dev, "ProtoJSON Format".
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

from kctl.client.records import MOST_JSON_BYTES
from kctl.client.wording import one_line
from kctl.serdes.errors import DecodeError, EncodeError, SchemaError
from kctl.serdes.libraries import import_library
from kctl.serdes.wire import read_indexes, write_indexes

EXTRA = "protobuf"
MOST_DEPTH = 100
_ENTRY_BYTES = 150
"""Approximate size of a field or message as a Python dict, without the field name."""
_TEXT_1 = 0x0A
"""Tag of field 1 with a string."""
_WELL_KNOWN = re.compile(r"google/protobuf/([a-z_]{1,40})\.proto")
_WELL_KNOWN_FILES = (
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
)


class ProtobufCodec:
    """Codec of the messages in a file.

    Args:
        files: import names and serialized FileDescriptorProtos, each after its imports. The last one is the file
            itself. Well-known types are optional.
        message: full name of the message. None reads message indexes before each payload.
        is_framed: whether message indexes precede the payload.
    Raises: SchemaError: the files are invalid, or the message does not exist; LibraryMissingError.
    """

    def __init__(self, files: Sequence[tuple[str, bytes]], message: str | None = None, *, is_framed: bool) -> None:
        self._json = import_library("google.protobuf.json_format", EXTRA)
        self._factory = import_library("google.protobuf.message_factory", EXTRA)
        descriptors = import_library("google.protobuf.descriptor_pb2", EXTRA)
        self._pool = import_library("google.protobuf.descriptor_pool", EXTRA).DescriptorPool()
        self._is_framed = is_framed
        self._places: dict[tuple[int, ...], Any] = {}
        self._printed_bytes: dict[Any, int] = {}
        """Size of an empty message as JSON, by descriptor."""
        self._file: Any = None
        added: set[str] = set()
        for name, content in files:
            self._file = self._add(descriptors, name, content, added)
        if self._file is None:
            raise SchemaError("the schema contains no Protobuf file")
        self._message = None if message is None else self._named(message)

    @classmethod
    def of_set(cls, content: bytes, message: str) -> "ProtobufCodec":
        """Return the codec of a message in a FileDescriptorSet. Raises: SchemaError, LibraryMissingError."""
        descriptors = import_library("google.protobuf.descriptor_pb2", EXTRA)
        try:
            files = descriptors.FileDescriptorSet.FromString(content).file
        except Exception:  # noqa: BLE001 - DecodeError of the library, which has several
            raise SchemaError(
                "the file is not a FileDescriptorSet",
                hint="create the file with: protoc --include_imports --descriptor_set_out=FILE NAME.proto",
            ) from None
        return cls([(each.name, each.SerializeToString()) for each in files], message, is_framed=False)

    def framed(self) -> "ProtobufCodec":
        """Return a codec of this message with Confluent's message indexes."""
        other = copy(self)
        other._is_framed = True
        return other

    def _add(self, descriptors: Any, name: str, content: bytes, added: set[str]) -> Any:
        try:
            file = descriptors.FileDescriptorProto.FromString(content)
            if name:
                file.name = name
            for imported in file.dependency:
                self._add_well_known(imported, added)
            added.add(file.name)
            self._pool.AddSerializedFile(file.SerializeToString())
            return self._pool.FindFileByName(file.name)
        except Exception as e:  # noqa: BLE001 - what the library raises for hostile files is not documented
            cause = one_line(str(e)) or type(e).__name__
            raise SchemaError(f"not a valid Protobuf schema: {cause}"[:300]) from None

    def _add_well_known(self, name: str, added: set[str]) -> None:
        found = _WELL_KNOWN.fullmatch(name)
        if found is None or name in added or found[1] not in _WELL_KNOWN_FILES:
            return
        added.add(name)
        module = import_library(f"google.protobuf.{found[1]}_pb2", EXTRA)
        for imported in module.DESCRIPTOR.dependencies:
            self._add_well_known(imported.name, added)
        self._pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)

    def _named(self, name: str) -> Any:
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            known = ", ".join(sorted(self._file.message_types_by_name))[:200]
            hint = f"use one of the messages {known}" if known else ""
            raise SchemaError(f"the Protobuf schema contains no message {name}", hint=hint) from None

    def descriptor(self, message: str | None) -> Any:
        """Return the descriptor of a message by full name. None means the first message of the file.

        Raises: SchemaError: the message does not exist.
        """
        if message is not None:
            return self._named(message)
        try:
            return self.indexed((0,))
        except DecodeError:
            raise SchemaError("the Protobuf schema contains no message") from None

    def indexed(self, indexes: Sequence[int]) -> Any:
        """Return the descriptor of a message by its indexes.

        Raises: DecodeError: the message does not exist.
        """
        found: Any = None
        for index in indexes:
            messages = list(
                (self._file.message_types_by_name if found is None else found.nested_types_by_name).values()
            )
            if index >= len(messages):
                raise DecodeError(f"the Protobuf schema contains no message {'.'.join(map(str, indexes))}")
            found = messages[index]
        return found

    def split(self, data: bytes) -> tuple[Any, bytes]:
        """Return the descriptor and the bytes of a framed message, without its message indexes or Apicurio's type name.

        Raises: DecodeError: the message does not exist.
        """
        named = self._type_named(data)
        if named is not None:
            return named, data[data[0] + 1 :]
        indexes, payload = read_indexes(data)
        if self._message is not None:
            return self._message, payload
        found = self._places.get(indexes)
        if found is None:
            found = self._places[indexes] = self.indexed(indexes)
        return found, payload

    def _type_named(self, data: bytes) -> Any:
        if len(data) < 4 or data[1] != _TEXT_1 or data[0] != data[2] + 2:
            return None
        name = data[3 : data[0] + 1].decode("utf-8", "replace")
        if self._message is not None:
            return self._message if name == self._message.name else None
        return self._file.message_types_by_name.get(name)

    def decode(self, data: bytes) -> Any:
        """Return the message as JSON.

        Raises: DecodeError: the bytes are not a message of this schema.
        """
        descriptor = self._message
        if self._is_framed:
            descriptor, data = self.split(data)
        try:
            message = self.parser(descriptor)(data)
            self._check_json_size(message)
            return self.to_json(message)
        except DecodeError:
            raise
        except Exception as e:  # noqa: BLE001 - as above, for hostile messages
            raise DecodeError(f"the bytes do not fit the Protobuf schema: {str(e) or type(e).__name__}"[:300]) from None

    def _check_json_size(self, message: Any) -> None:
        """Raise DecodeError if a message is too large as JSON, or nested too deeply.

        A message of two bytes prints all its fields without presence.
        """
        size_bytes = 0
        left = [(message, 0)]
        while left:
            found, depth = left.pop()
            size_bytes += self._empty_bytes(found.DESCRIPTOR)
            if size_bytes > MOST_JSON_BYTES:
                raise DecodeError(f"the message is larger than {MOST_JSON_BYTES >> 20} MiB as JSON")
            if depth > MOST_DEPTH:
                raise DecodeError(f"the message is nested more than {MOST_DEPTH} levels deep")
            left += ((each, depth + 1) for each in self._messages_in(found))

    def _empty_bytes(self, descriptor: Any) -> int:
        cost = self._printed_bytes.get(descriptor)
        if cost is None:
            printed = [field.name for field in descriptor.fields if not field.has_presence]
            cost = self._printed_bytes[descriptor] = sum(len(name) + _ENTRY_BYTES for name in printed) + _ENTRY_BYTES
        return cost

    def _messages_in(self, message: Any) -> Iterator[Any]:
        if message.DESCRIPTOR.full_name == "google.protobuf.Any":
            name = message.type_url.rpartition("/")[2]
            with suppress(Exception):  # unknown or damaged message: `to_json` raises the error
                yield self.parser(self._pool.FindMessageTypeByName(name))(message.value)
            return
        for field, value in message.ListFields():
            if field.message_type is None:
                continue
            if field.message_type.GetOptions().map_entry:
                if field.message_type.fields_by_name["value"].message_type is not None:
                    yield from value.values()
            elif field.is_repeated:
                yield from value
            else:
                yield value

    def parser(self, descriptor: Any) -> Callable[[bytes], Any]:
        read: Callable[[bytes], Any] = self._factory.GetMessageClass(descriptor).FromString
        return read

    def to_json(self, message: Any) -> Any:
        return self._json.MessageToDict(
            message,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
            descriptor_pool=self._pool,
        )

    def encode(self, value: Any) -> bytes:
        """Return a JSON value as a message.

        Raises: EncodeError: the value does not fit.
        """
        descriptor = self._message or self.indexed((0,))
        if isinstance(value, list):  # the library would read it as an empty message
            raise EncodeError(
                f"the value does not fit message {descriptor.full_name}: expected an object, not an array"
            )
        try:
            message = self._factory.GetMessageClass(descriptor)()
            self._json.ParseDict(value, message, descriptor_pool=self._pool, max_recursion_depth=MOST_DEPTH)
            payload: bytes = message.SerializeToString(deterministic=True)
        except Exception as e:  # noqa: BLE001 - as above, for wrong values
            text = str(e) or type(e).__name__
            raise EncodeError(f"the value does not fit message {descriptor.full_name}: {text}"[:300]) from None
        return write_indexes(_indexes_of(descriptor)) + payload if self._is_framed else payload


def file_of(text: str) -> bytes:
    """Return the FileDescriptorProto of a schema from the registry.

    Raises: SchemaError: the schema is the text of a .proto file, which kctl does not compile.
    """
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise SchemaError(
            "the registry returned the Protobuf schema as text, but kctl needs the serialized form",
            hint="use --protoset FILE --protobuf-message NAME with a descriptor set of protoc --include_imports",
        ) from None


def _indexes_of(descriptor: Any) -> tuple[int, ...]:
    above = descriptor.containing_type
    siblings = descriptor.file.message_types_by_name if above is None else above.nested_types_by_name
    index = list(siblings).index(descriptor.name)
    return (index,) if above is None else (*_indexes_of(above), index)
