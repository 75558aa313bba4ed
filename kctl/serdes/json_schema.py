"""JsonSchemaCodec: JSON values, checked by jsonschema-rs when they are written.

Values are not checked when they are read, so readers can get invalid ones.
"""

import json
from collections.abc import Mapping
from typing import Any

from kctl.serdes.errors import DecodeError, EncodeError, SchemaError, SerdesError
from kctl.serdes.json_schema_guard import JsonSchemaGuard
from kctl.serdes.json_text import parse_json, show_json
from kctl.serdes.libraries import import_library


class JsonSchemaCodec:
    """Codec of one schema.

    Args:
        text: the schema. An empty string disables checks.
        dependencies: referenced schemas by reference name.
    """

    def __init__(self, text: str, dependencies: Mapping[str, str] | None = None) -> None:
        self._text = text
        self._dependencies = dependencies or {}
        self._validator: Any = None
        self._guard: JsonSchemaGuard | None = None

    def decode(self, data: bytes) -> Any:
        """Return the value.

        Raises: DecodeError: the bytes are not JSON.
        """
        try:
            return parse_json(data)
        except (ValueError, RecursionError) as e:
            raise DecodeError(f"not JSON: {e}"[:300]) from None

    def encode(self, value: Any) -> bytes:
        """Return the JSON of a value.

        Raises: EncodeError: the value does not fit the schema.
        """
        if self._text:
            self._check(value)
        try:
            return show_json(value).encode()
        except SerdesError as e:
            raise EncodeError(str(e)) from None

    def _prepare(self) -> None:
        library = import_library("jsonschema_rs", "json-schema")
        try:
            schema = json.loads(self._text)
            others = {name: json.loads(text) for name, text in self._dependencies.items()}
            self._guard = JsonSchemaGuard.of({**others, "": schema})
            self._validator = library.validator_for(schema, retriever=self._retrieve)
        except Exception as e:  # noqa: BLE001 - what the library raises for hostile schemas is not documented
            raise SchemaError(f"not a valid JSON Schema: {str(e).splitlines()[0] if str(e) else e!r}"[:300]) from None

    def _check(self, value: Any) -> None:
        if self._validator is None:
            self._prepare()
        if self._guard is not None:
            self._guard.check(value)
        error = next(iter(self._validator.iter_errors(value)), None)
        if error is not None:
            place = "/".join(str(each) for each in error.instance_path)
            where = f" at /{place}" if place else ""
            raise EncodeError(f"the value does not fit the JSON Schema{where}: {error.message}"[:300])

    def _retrieve(self, uri: str) -> Any:
        """Return a referenced schema. Never uses the network."""
        for name in (uri, uri.rpartition("/")[2]):
            if name in self._dependencies:
                return json.loads(self._dependencies[name])
        raise ValueError(f"{uri} is not a reference of the schema")
