"""Schemas in files, and their references."""

from collections.abc import Sequence

from kctl.grammar.integers import integer_in
from kctl.serdes.errors import EncodeError, SchemaError
from kctl.serdes.json_text import read_json
from kctl.serdes.registry import AVRO, JSON, PROTOBUF, Reference, Schema

TYPES = {"avro": AVRO, "protobuf": PROTOBUF, "json": JSON}
ENDINGS = {".avsc": AVRO, ".proto": PROTOBUF, ".json": JSON}


def schema_of(text: str, name: str, kind: str | None, references: Sequence[Reference]) -> Schema:
    """Return the schema in a file. Its type is `kind`, otherwise follows from the file name, otherwise is Avro.

    Raises: SchemaError: Avro or JSON Schema is not JSON.
    """
    found = TYPES[kind] if kind is not None else next((ENDINGS[end] for end in ENDINGS if name.endswith(end)), AVRO)
    if found != PROTOBUF:
        try:
            read_json(text.encode())
        except EncodeError as e:
            raise SchemaError(f"{name}: {e}") from None
    return Schema(found, text.strip(), tuple(references))


def read_reference(text: str) -> Reference:
    """Return the reference in `NAME=SUBJECT@VERSION`. Raise ValueError if it is malformed."""
    name, equals, place = text.partition("=")
    subject, at, version = place.rpartition("@")
    number = integer_in(version)
    if not (name and equals and subject and at) or number is None or not 0 < number < 2**31:
        raise ValueError(f"{text!r} is not in the form NAME=SUBJECT@VERSION")
    return Reference(name, subject, number)
