"""Formats of keys and values, for typed producers and consumers."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from kctl.serdes.codecs import Codec
from kctl.serdes.errors import DecodeError, EncodeError
from kctl.serdes.wire import Header

T = TypeVar("T")


class Serde(Protocol[T]):
    """Format of keys or values of type T. Not called for null."""

    def serialize(self, value: T, topic: str) -> bytes:
        """Return the bytes of a value for a topic.

        Raises: EncodeError: the value does not fit.
        """
        ...

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> T:
        """Return the value of bytes.

        Raises: DecodeError: the bytes do not have this format.
        """
        ...


class Raw:
    """Bytes without conversion."""

    def serialize(self, value: bytes, topic: str) -> bytes:  # noqa: ARG002
        if not isinstance(value, bytes):
            raise EncodeError(f"expected bytes, not {type(value).__name__}")
        return value

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> bytes:  # noqa: ARG002
        return data


class Text:
    """Strings in UTF-8."""

    def serialize(self, value: str, topic: str) -> bytes:  # noqa: ARG002
        if not isinstance(value, str):
            raise EncodeError(f"expected a string, not {type(value).__name__}")
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise EncodeError(f"the string cannot be encoded as UTF-8: {error.reason}") from None

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> str:  # noqa: ARG002
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"not UTF-8: {error.reason} at byte {error.start}") from None


class _ByCodec:
    """Base of formats with a codec that needs no registry."""

    _codec: Codec

    def serialize(self, value: Any, topic: str) -> bytes:  # noqa: ARG002
        return self._codec.encode(value)

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> Any:  # noqa: ARG002
        return self._codec.decode(data)


class Json(_ByCodec):
    """JSON values as JSON.

    Args:
        schema: JSON Schema to check written values with. An empty string disables checks.
    """

    def __init__(self, schema: str = "") -> None:
        from kctl.serdes.json_schema import JsonSchemaCodec

        self._codec = JsonSchemaCodec(schema)


class Avro(_ByCodec):
    """JSON values as Avro, with one schema and without a schema ID.

    Raises: SchemaError: the schema is invalid. LibraryMissingError.
    """

    def __init__(self, schema: str, *, reader: str | None = None) -> None:
        from kctl.serdes.avro import AvroCodec

        self._codec = AvroCodec(schema, reader=reader)


class MessagePack(_ByCodec):
    """JSON values as MessagePack. Raises: LibraryMissingError."""

    def __init__(self) -> None:
        from kctl.serdes.message_pack import MessagePackCodec

        self._codec = MessagePackCodec()


class Mapped(Generic[T]):
    """Format whose values are converted by two functions, for example for a dataclass.

    Args:
        serde: the underlying format.
        load: converts a value of the format to a value of the application.
        dump: converts a value of the application to a value of the format.
    """

    def __init__(self, serde: Serde[Any], load: Callable[[Any], T], dump: Callable[[T], Any]) -> None:
        self._serde = serde
        self._load = load
        self._dump = dump

    def serialize(self, value: T, topic: str) -> bytes:
        return self._serde.serialize(self._dump(value), topic)

    def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> T:
        found = self._serde.deserialize(data, topic, headers)
        try:
            return self._load(found)
        except Exception as error:
            raise DecodeError(f"the value cannot be converted: {str(error) or type(error).__name__}"[:300]) from error
