"""ValueReader: what reads the keys or values of one schema type, as one Arrow type.

A type is fixed by the reader's schema. What was written by another version of it is read in this type, or is an error
of its record. Imports pyarrow, so tasks import it late.
"""

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from kctl.serdes.errors import SchemaError
from kctl.serdes.schema_store import Resolved

MOST_LEVELS = 60
MOST_FIELDS = 10_000
Read = Callable[[bytes], object]
"""Returns a value as pyarrow takes it. Raises: DecodeError."""


class ValueReader(Protocol):
    """Reads values of all versions of a schema."""

    @property
    def type(self) -> pa.DataType:
        """The type of all values."""
        ...

    def of_writer(self, writer: Resolved) -> Read:
        """Return what reads the payloads of a writer's schema. Raises: SchemaError, LibraryMissingError."""
        ...


class TypeBudget:
    """How large a type may be: a short schema can stand for any number of fields, when each level has two of the next.

    Args: kind: of the schema, for errors.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._fields = 0

    def spend(self, level: int) -> None:
        """Count a field at some level. Raises: SchemaError: too deep, or too many."""
        self._fields += 1
        if level > MOST_LEVELS:
            raise SchemaError(f"the {self._kind} schema is nested more than {MOST_LEVELS} levels deep")
        if self._fields > MOST_FIELDS:
            raise SchemaError(f"the {self._kind} schema has more than {MOST_FIELDS} columns")


def list_of(items: pa.DataType) -> pa.DataType:
    """Return the type of a list, its items named as Spark does."""
    return pa.list_(pa.field("element", items))
