"""SideRequest and the properties of a registry: what users may write."""

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.decoding.plan import check_registry, side_request


@pytest.mark.parametrize(
    ("form", "schema", "words"),
    [
        ("csv", None, "decode value='csv': use one of auto, avro, protobuf, json-schema"),
        ("avro", "id:x", "invalid value schema 'id:x': 'x' is not a valid schema id"),
        ("avro", "auto", "the value reader schema cannot be the schema of each record"),
    ],
)
def test_form_or_schema_that_does_not_exist_is_refused(form: str, schema: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        side_request("value", form, schema, None)


def test_registry_must_be_named_by_properties_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"set schema\.registry\.url"):
        check_registry({})
    with pytest.raises(ConfigError, match=r"unknown schema registry property 'schema\.registry\.uri'"):
        check_registry({"schema.registry.uri": "x"})
