"""Decoder: which schema decides, and what is refused."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from kctl.serdes.avro import AvroCodec
from kctl.serdes.codecs import Codec, Codecs, codec_of
from kctl.serdes.decoder import Decoded, Decoder, Form
from kctl.serdes.errors import DecodeError, SchemaError, SchemaNotFoundError
from kctl.serdes.json_schema import JsonSchemaCodec
from kctl.serdes.registry import Schema
from kctl.serdes.schema_store import Resolved
from kctl.serdes.wire import VALUE_HEADER, Header, write_frame
from tests.support.registry.in_memory import RegistryScene

INT = AvroCodec('"int"')


class Scene(RegistryScene):
    """A registry with one Avro and one JSON schema."""

    def __init__(self) -> None:
        super().__init__()
        self.avro = self.fake.add("a", '"int"')
        self.json = self.fake.add("j", '{"type":"object"}', "JSON")
        self.codecs = Codecs(self.store())

    def decode(
        self, form: Form, data: bytes, headers: Sequence[Header] = (), local: Codec | None = None
    ) -> Decoded | None:
        return Decoder(form, VALUE_HEADER, self.codecs, local).decode(data, headers)


def test_schema_id_decides_in_auto() -> None:
    scene = Scene()
    assert scene.decode(Form.AUTO, write_frame(scene.avro, INT.encode(5))) == Decoded(5, scene.avro, "AVRO")
    assert scene.decode(Form.AUTO, write_frame(scene.json, b'{"a":1}')) == Decoded({"a": 1}, scene.json, "JSON")
    assert scene.decode(Form.AUTO, b"plain") is None
    guid = scene.fake.guid(scene.avro)
    in_header = ((VALUE_HEADER, b"\x01" + guid.bytes),)
    assert scene.decode(Form.AUTO, INT.encode(5), in_header) == Decoded(5, guid, "AVRO")
    assert isinstance(guid, UUID)


def test_form_that_is_named_must_be_that_of_the_schema() -> None:
    scene = Scene()
    with pytest.raises(DecodeError, match="schema 2 is JSON, not AVRO"):
        scene.decode(Form.AVRO, write_frame(scene.json, b"{}"))
    with pytest.raises(DecodeError, match="has no schema ID"):
        scene.decode(Form.AVRO, b"plain")
    assert scene.decode(Form.AVRO, INT.encode(7), local=INT) == Decoded(7)


def test_codec_of_framed_data_needs_no_registry() -> None:
    double = AvroCodec('"double"')
    decoder = Decoder(Form.PROTOBUF, VALUE_HEADER, None, INT, double)
    assert decoder.decode(write_frame(7, double.encode(0.5))) == Decoded(0.5, 7, "PROTOBUF")
    assert decoder.decode(INT.encode(5)) == Decoded(5)


def test_unknown_schema_is_the_registrys_error() -> None:
    with pytest.raises(SchemaNotFoundError, match="Schema 99 not found"):
        Scene().decode(Form.AUTO, write_frame(99, b""))


def test_codec_is_made_once_a_schema() -> None:
    scene = Scene()
    for _ in range(3):
        scene.decode(Form.AUTO, write_frame(scene.avro, INT.encode(5)))
    assert scene.http.asked == ["GET one /schemas/ids/1"]


def test_schema_of_another_type_is_refused() -> None:
    with pytest.raises(SchemaError, match="'THRIFT' are not supported"):
        codec_of(Resolved(Schema("THRIFT", "")))


def test_avro_with_references_and_a_readers_schema() -> None:
    item = {"type": "record", "name": "Item", "fields": [{"name": "a", "type": "int"}]}
    text = json.dumps({"type": "array", "items": "Item"})
    codec: Any = codec_of(Resolved(Schema("AVRO", text), (("Item", Schema("AVRO", json.dumps(item))),)))
    assert codec.decode(codec.encode([{"a": 1}])) == [{"a": 1}]
    new = json.dumps({"type": "record", "name": "Item", "fields": [{"name": "b", "type": "int", "default": 9}]})
    reading: Any = codec_of(Resolved(Schema("AVRO", json.dumps(item))), new)
    assert reading.decode(b"\x02") == {"b": 9}


def test_value_that_is_too_large_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.serdes.decoder.MOST_VALUE_BYTES", 10)
    decoder = Decoder(Form.JSON, "h", None, JsonSchemaCodec(""))
    assert decoder.decode(b'"12345678"') == Decoded("12345678")
    with pytest.raises(DecodeError, match="the data has 11 bytes, more than the limit of 10"):
        decoder.decode(b'"123456789"')
