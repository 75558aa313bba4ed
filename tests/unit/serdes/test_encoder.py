"""Encoder: subjects by strategy, ids, the schema of the record itself, and registration."""

import pytest

from kctl.serdes.avro import AvroCodec
from kctl.serdes.codecs import Codec
from kctl.serdes.encoder import Encoder, LocalEncoder, Target, check_schema_of, parse_target
from kctl.serdes.errors import EncodeError, SchemaError, SchemaNotFoundError
from kctl.serdes.registry import Schema
from kctl.serdes.wire import VALUE_HEADER, write_frame
from tests.support.registry.in_memory import RegistryScene
from tests.support.registry.server import FakeRegistry

INT = AvroCodec('"int"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", Target()),
        ("topic", Target(subject="{topic}-value")),
        ("id:7", Target(schema_id=7)),
        ("record:shop.Order", Target(subject="shop.Order")),
        ("topic-record:shop.Order", Target(subject="{topic}-shop.Order")),
        ("orders-value", Target(subject="orders-value")),
        ("orders@home@3", Target(subject="orders@home", version=3)),
        ("orders@latest", Target(subject="orders")),
        ("subject:auto", Target(subject="auto")),
    ],
)
def test_targets(text: str, expected: Target) -> None:
    assert parse_target(text, "value") == expected


@pytest.mark.parametrize("text", ["", "id:x", "id:0", "id:99999999999", "record:", "s@x", "s@0", "@1"])
def test_malformed_target_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"id|version|name"):
        parse_target(text, "value")


class Scene(RegistryScene):
    """A registry with a subject for the topic `t`."""

    def __init__(self) -> None:
        super().__init__()
        self.number = self.fake.add("t-value", '"int"')

    def encoder(self, target: str, new: Schema | None = None, codec: Codec | None = None) -> Encoder:
        return Encoder(parse_target(target, "value"), VALUE_HEADER, self.registry(), self.store(), new, codec)


def test_value_is_encoded_by_subject_topic_or_id() -> None:
    scene = Scene()
    for target in ("t-value@1", "topic", "id:1"):
        assert scene.encoder(target).encode(b"5", "t", None, ()) == write_frame(scene.number, INT.encode(5))


def test_subject_is_looked_up_once() -> None:
    scene = Scene()
    encoder = scene.encoder("topic")
    for value in (b"1", b"2", b"3"):
        encoder.encode(value, "t", None, ())
    assert scene.http.asked == ["GET one /subjects/t-value/versions/latest", "GET one /schemas/ids/1"]


def test_schema_of_the_record_decides_in_auto() -> None:
    scene = Scene()
    encoder, guid = scene.encoder("auto"), scene.fake.guid(1)
    assert encoder.encode(b"raw", "t", None, ()) == b"raw"
    assert encoder.encode(b"5", "t", 1, ()) == write_frame(1, INT.encode(5))
    assert encoder.encode(b"5", "t", guid, ()) == b"\x01" + guid.bytes + INT.encode(5)
    assert encoder.encode(b"5", "t", guid, ((VALUE_HEADER, b"..."),)) == INT.encode(5)


def test_schema_is_registered_only_where_asked_for() -> None:
    scene = Scene()
    with pytest.raises(SchemaNotFoundError):
        scene.encoder("new-value").encode(b"5", "t", None, ())
    encoder = scene.encoder("new-value", Schema("AVRO", '"long"'))
    assert encoder.encode(b"5", "t", None, ()) == encoder.encode(b"5", "t", None, ()) == write_frame(2, INT.encode(5))
    assert [each for each in scene.http.asked if each.startswith("POST")] == ["POST one /subjects/new-value/versions"]


@pytest.mark.parametrize("value", [b"x", b'"5"', b"", b"1.5"])
def test_value_that_does_not_fit_is_an_encode_error(value: bytes) -> None:
    with pytest.raises(EncodeError):
        Scene().encoder("topic").encode(value, "t", None, ())


def test_codec_of_the_caller_is_for_protobuf_schemas_alone() -> None:
    scene = Scene()
    text = scene.fake.add("p", "text of a file", "PROTOBUF")
    assert scene.encoder(f"id:{text}", codec=INT).encode(b"5", "t", None, ()) == write_frame(text, INT.encode(5))
    with pytest.raises(SchemaError, match=f"schema {scene.number} has type AVRO, expected PROTOBUF"):
        scene.encoder("topic", codec=INT).encode(b"5", "t", None, ())


def test_local_codec_writes_no_schema_id() -> None:
    assert LocalEncoder(INT).encode(b"5", "t", None, ()) == INT.encode(5)


def test_schema_of_a_jsonl_record() -> None:
    guid = FakeRegistry().guid(1)
    assert check_schema_of(None) is None
    assert check_schema_of({"id": 7, "type": "AVRO"}) == 7
    assert check_schema_of({"guid": str(guid)}) == guid
    wrong: object
    for wrong in (5, {}, {"id": 0}, {"id": True}, {"guid": "x"}, []):
        with pytest.raises(EncodeError):
            check_schema_of(wrong)
