"""JsonSchemaCodec: values are checked where they are written, and nothing is fetched."""

import json

import pytest

from kctl.serdes.errors import DecodeError, EncodeError, SchemaError
from kctl.serdes.json_schema import JsonSchemaCodec

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "item": {"$ref": "item.json"}},
        "required": ["id"],
        "additionalProperties": False,
    }
)
ITEM = json.dumps({"type": "string", "maxLength": 3})


def test_value_that_fits_is_written_as_json() -> None:
    codec = JsonSchemaCodec(SCHEMA, {"item.json": ITEM})
    assert codec.encode({"id": 1, "item": "é"}) == '{"id":1,"item":"é"}'.encode()
    assert codec.decode(codec.encode({"id": 1})) == {"id": 1}


@pytest.mark.parametrize(
    ("value", "where"), [({"id": "x"}, " at /id"), ({}, ""), ({"id": 1, "item": "long"}, " at /item")]
)
def test_value_that_does_not_fit_is_an_encode_error(value: object, where: str) -> None:
    with pytest.raises(EncodeError, match=f"does not fit the JSON Schema{where}:"):
        JsonSchemaCodec(SCHEMA, {"item.json": ITEM}).encode(value)


@pytest.mark.parametrize("schema", ["{", "5", '{"type": 5}', '{"$ref": "http://127.0.0.1:1/x"}', '{"pattern": "("}'])
def test_invalid_schema_or_foreign_reference_is_a_schema_error(schema: str) -> None:
    with pytest.raises(SchemaError):
        JsonSchemaCodec(schema).encode({})


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_malformed_json_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        JsonSchemaCodec("{}").decode(data)
