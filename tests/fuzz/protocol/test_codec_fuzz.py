"""Every declared message and version: the compiled codec and the walker agree on all bytes, good and bad."""

import struct
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec, walker
from kctl.client.protocol.api.fetch import FetchResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.pieces import Pieces
from kctl.client.protocol.schema import Message, Struct
from kctl.client.protocol.topic_names import TopicNamesRequest, TopicNamesResponse
from tests.fuzz.examples import examples
from tests.fuzz.protocol.messages import every_version, mutate, random_message, same, versions_of, with_floats

NAMES = versions_of([TopicNamesRequest, TopicNamesResponse])
EVERY = pytest.mark.parametrize(
    ("cls", "version"),
    [pytest.param(cls, version, id=f"{cls.__name__}-v{version}") for cls, version in every_version() + NAMES],
)
SEEDS = st.integers(min_value=0, max_value=2**32)
REFUSED = "refused"


def compiled(cls: type[Message], version: int, data: bytes | memoryview, *, in_place: bool = False) -> Any:
    """What the compiled function makes of the start of `data`; an exception outside FAILURES fails the test."""
    try:
        return codec.decoder(cls, version, isinstance(data, memoryview), in_place)(data, 0)
    except codec.FAILURES:
        return REFUSED


def walked(cls: type[Message], version: int, data: bytes) -> Any:
    """What the walker makes of the start of `data`; an exception other than RemoteProtocolError fails the test."""
    try:
        return walker.decode_header(cls, data, version)
    except RemoteProtocolError as caught:
        error = caught
    assert error.api == cls.NAME
    assert error.version == version
    assert error.offset is not None
    assert 0 <= error.offset <= len(data)
    return REFUSED


def agree(cls: type[Message], version: int, data: bytes) -> Any:
    """Assert that all decoders say the same; the message, when `data` is one from its start to its end."""
    expected = walked(cls, version, data)
    assert same(compiled(cls, version, data), expected)
    assert same(compiled(cls, version, memoryview(data)), expected)
    if cls is FetchResponse:
        assert same(compiled(cls, version, data, in_place=True), expected)
    if expected is REFUSED or expected[1] != len(data):
        with pytest.raises(RemoteProtocolError):
            codec.decode(cls, data, version)
        return REFUSED
    assert same(codec.decode(cls, data, version), expected[0])
    return expected[0]


def with_records_in_pieces(rng: Random, value: Any) -> Any:
    """The message with its records cut in two, as a producer gives them."""
    if isinstance(value, Struct):
        for entry in value.FIELDS:
            item = getattr(value, entry.name)
            if entry.kind == "records" and item is not None:
                at = rng.randrange(len(item) + 1)
                setattr(value, entry.name, Pieces(item[:at], item[at:]))
            else:
                with_records_in_pieces(rng, item)
    elif isinstance(value, list):
        for item in value:
            with_records_in_pieces(rng, item)
    return value


def without_partitions(message: Any) -> Any:
    """The message as decoders read it: they skip the partitions of a response about names."""
    topics = message.topics if isinstance(message, TopicNamesResponse) else ()
    for topic in topics:
        topic.partitions = []
    return message


@EVERY
@settings(max_examples=examples(8), deadline=None, database=None)
@given(seed=SEEDS)
def test_encoded_message_is_decoded_to_the_same(cls: type[Message], version: int, seed: int) -> None:
    message = random_message(Random(seed), cls, version)
    parts: list[bytes] = []
    codec.encoder(cls, version)(message, parts)
    data = b"".join(parts)
    assert walker.encode(message, version) == data
    in_pieces: list[bytes] = []
    codec.encoder(cls, version)(with_records_in_pieces(Random(seed), message), in_pieces)
    assert b"".join(in_pieces) == walker.encode(message, version) == data
    assert same(agree(cls, version, data), without_partitions(message))


@EVERY
@settings(max_examples=examples(2), deadline=None, database=None)
@given(seed=SEEDS)
def test_cut_anywhere_is_refused(cls: type[Message], version: int, seed: int) -> None:
    data = walker.encode(random_message(Random(seed), cls, version), version)
    step = 1 + len(data) // examples(400)
    for end in range(0, len(data), step):
        assert agree(cls, version, data[:end]) is REFUSED
    assert agree(cls, version, data + b"\0") is REFUSED


@EVERY
@settings(max_examples=examples(15), deadline=None, database=None)
@given(seed=SEEDS)
def test_mutated_bytes_get_one_verdict(cls: type[Message], version: int, seed: int) -> None:
    rng = Random(seed)
    data = walker.encode(random_message(rng, cls, version), version)
    for _ in range(4):
        verdict = agree(cls, version, mutate(rng, data))
        if verdict is not REFUSED:
            again = walker.encode(verdict, version)
            assert same(agree(cls, version, again), verdict)


@EVERY
@settings(max_examples=examples(8), deadline=None, database=None)
@given(data=st.binary(max_size=60))
def test_garbage_is_a_remote_protocol_error_or_a_message(cls: type[Message], version: int, data: bytes) -> None:
    agree(cls, version, data)


FLOATS = [
    struct.unpack(">d", bytes.fromhex(bits))[0] for bits in ("7ff8000000000000", "fff0000000000000", "8000000000000000")
]
"""A NaN, minus infinity and minus zero."""


def has_floats(cls: type[Struct]) -> bool:
    kinds = [entry.kind for entry in cls.FIELDS]
    return "float64" in kinds or any(has_floats(kind) for kind in kinds if isinstance(kind, type))


@pytest.mark.parametrize(("cls", "version"), versions_of([MetadataResponse]))
@settings(max_examples=examples(8), deadline=None, database=None)
@given(seed=SEEDS)
def test_topic_names_are_those_of_the_metadata(cls: type[Message], version: int, seed: int) -> None:
    message = random_message(Random(seed), cls, version)
    found = agree(TopicNamesResponse, version, walker.encode(message, version))
    assert [entry.name for entry in TopicNamesResponse.FIELDS] == [entry.name for entry in cls.FIELDS]
    assert [(topic.name, topic.is_internal, topic.error_code) for topic in found.topics] == [
        (topic.name, topic.is_internal, topic.error_code) for topic in message.topics
    ]
    assert (found.error_code, len(found.brokers)) == (message.error_code, len(message.brokers))


@pytest.mark.parametrize("version", range(MetadataRequest.VALID_VERSIONS[1] + 1))
def test_request_for_topic_names_is_a_metadata_request(version: int) -> None:
    fields: dict[str, Any] = {"topics": None} if version else {}
    names, metadata = TopicNamesRequest(**fields), MetadataRequest(**fields)
    assert walker.encode(names, version) == walker.encode(metadata, version)


@pytest.mark.parametrize(("cls", "version"), [each for each in every_version() if has_floats(each[0])])
@pytest.mark.parametrize("number", FLOATS, ids=str)
def test_special_floats_are_decoded_to_the_same(cls: type[Message], version: int, number: float) -> None:
    message = with_floats(random_message(Random(1), cls, version), number)
    data = walker.encode(message, version)
    assert same(agree(cls, version, data), message)
    assert not same(message, with_floats(random_message(Random(1), cls, version), 1.0))
