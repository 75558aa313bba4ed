"""AvroReader: reads Avro's binary encoding with fastavro, and converts values with `Leaves`."""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from kctl.client.wording import one_line
from kctl.serdes.avro_guard import Guard
from kctl.serdes.avro_schema import AvroSchema, plain, read_avro_schema, whole
from kctl.serdes.avro_shape import Leaves, Shape
from kctl.serdes.errors import DecodeError, SchemaError
from kctl.serdes.libraries import import_library


class AvroReader:
    """Reader of values with one writer's schema.

    Args:
        text: the writer's schema.
        dependencies: referenced schemas, each after the schemas that it references.
        reader: another schema to read with (schema evolution).
        reader_dependencies: referenced schemas of `reader`.
    Raises: SchemaError: a schema is invalid; LibraryMissingError.
    """

    def __init__(
        self,
        text: str,
        leaves: Leaves,
        dependencies: Sequence[str] = (),
        reader: str | None = None,
        reader_dependencies: Sequence[str] = (),
    ) -> None:
        self._fastavro = import_library("fastavro", "avro")
        try:
            self.schema = read_avro_schema(text, dependencies)
            self._guard = Guard.of(*self.schema)
            other = None if reader is None else read_avro_schema(reader, reader_dependencies)
            self._names = self.schema.names if other is None else self.schema.names | other.names
            self._prepare(leaves, None if other == self.schema else other)
        except RecursionError:
            raise SchemaError("the Avro schema is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for a hostile schema is not documented
            raise SchemaError(f"not a valid Avro schema: {type(e).__name__}: {one_line(str(e))}"[:300]) from None

    def _prepare(self, leaves: Leaves, reader: AvroSchema | None) -> None:
        self._writer = self.parsed()
        shape = Shape(self.schema if reader is None else reader, leaves, copies=reader is not None)
        read_by = None if reader is None else self._parsed(reader)
        self.read = _reading(self._fastavro, self._guard, self._writer, read_by, shape)
        """Return the value of bytes. Raises: DecodeError: they do not fit the schema, or bytes follow the value."""

    def most_bytes_of_json(self, json_bytes: int) -> int:
        """Return the maximum size of data that never exceeds `json_bytes` as JSON, or 0 for schemas with a guard.

        A byte of data produces at most all names of the schema in JSON, because each record type appears at most once
        between the root and a value that is not a record.
        """
        if self._guard is not None:
            return 0
        names = [
            name
            for full_name, each in self._names.items()
            for name in (full_name, *each.get("symbols", ()), *(field["name"] for field in each.get("fields", ())))
        ]
        return json_bytes // (8 + sum(len(name) + 8 for name in names))

    def parsed(self) -> Any:
        return self._parsed(self.schema)

    def _parsed(self, schema: AvroSchema) -> Any:
        return self._fastavro.parse_schema(plain(whole(*schema, set())))


def _reading(fastavro: Any, guard: Guard | None, writer: Any, reader: Any, shape: Shape) -> Callable[[bytes], Any]:
    """Return `AvroReader.read` as a closure, for speed: small records need half a microsecond."""
    names, convert, read_one = shape.names_branches, shape.convert, fastavro.schemaless_reader

    def read(data: bytes) -> Any:
        if guard is not None:
            guard.check(data)
        source = BytesIO(data)
        try:
            # positional: return_record_name, return_record_name_override, handle_unicode_errors, return_named_type
            value = read_one(source, writer, reader, False, False, "strict", names)
            if convert is not None:
                value = convert(value)
        except RecursionError:
            raise DecodeError("the value is nested too deeply") from None
        except Exception as e:  # noqa: BLE001 - what the library raises for damaged bytes is not documented
            raise DecodeError(f"the bytes do not fit the Avro schema: {str(e) or type(e).__name__}"[:300]) from None
        if rest := source.read():
            raise DecodeError(f"the bytes do not fit the Avro schema: {len(rest)} bytes follow the value")
        return value

    return read
