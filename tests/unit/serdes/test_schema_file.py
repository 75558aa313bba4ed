"""Schemas in files."""

import pytest

from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import Reference, Schema
from kctl.serdes.schema_file import read_reference, schema_of


def test_type_is_by_ending_unless_given() -> None:
    assert schema_of(' "int"\n', "a.avsc", None, ()) == Schema("AVRO", '"int"')
    assert schema_of("{}", "a.json", None, ()).type == "JSON"
    assert schema_of("message A {}", "a.proto", None, ()).type == "PROTOBUF"
    assert schema_of('"int"', "-", None, ()).type == "AVRO"
    assert schema_of("{}", "a.avsc", "json", [Reference("n", "s", 1)]) == Schema(
        "JSON", "{}", (Reference("n", "s", 1),)
    )


def test_schema_that_is_no_json_is_refused_with_its_file() -> None:
    with pytest.raises(SchemaError, match=r"a\.avsc: not JSON"):
        schema_of("{", "a.avsc", None, ())


def test_references_are_name_subject_and_version() -> None:
    assert read_reference("shop.Item=item@v1@3") == Reference("shop.Item", "item@v1", 3)
    for text in ("", "a", "a=b", "a=b@", "a=b@0", "a=b@x", "=b@1", "a=@1", f"a=b@{'0' * 10}1{'0' * 5000}"):
        with pytest.raises(ValueError, match="NAME=SUBJECT@VERSION"):
            read_reference(text)
