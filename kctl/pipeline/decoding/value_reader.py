"""ValueReader: reader of keys or values of one schema type.

The reader's schema determines the Arrow type. Values of other schema versions are converted. If that fails, the record
is undecodable.
"""

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from kctl.serdes.errors import SchemaError
from kctl.serdes.schema_store import Resolved

MOST_LEVELS = 60
MOST_FIELDS = 10_000
Read = Callable[[bytes], object]
"""Function that returns a value for pyarrow. Raises: DecodeError."""


class ValueReader(Protocol):
    """Reader of values of all versions of a schema."""

    @property
    def type(self) -> pa.DataType: ...

    def of_writer(self, writer: Resolved) -> Read: ...


class TypeBudget:
    """Limit on the size of a type, because a short schema can describe an exponentially large type."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._fields = 0

    def spend(self, level: int) -> None:
        """Count a field at a nesting level."""
        self._fields += 1
        if level > MOST_LEVELS:
            raise SchemaError(f"the {self._kind} schema is nested more than {MOST_LEVELS} levels deep")
        if self._fields > MOST_FIELDS:
            raise SchemaError(f"the {self._kind} schema has more than {MOST_FIELDS} columns")


def list_of(items: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", items))
