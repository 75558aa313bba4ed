"""Golden bytes, the errors that name field and offset, and when a codec is compiled.

Equality with the walker and with Kafka is
"""

import linecache
from typing import Any, TypeVar, cast

import pytest

from kctl.client.errors import LocalProtocolError, RemoteProtocolError
from kctl.client.protocol import codec, walker
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsResponse
from kctl.client.protocol.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kctl.client.protocol.api.find_coordinator import FindCoordinatorResponse
from kctl.client.protocol.api.groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kctl.client.protocol.api.topics import CreatableTopic, CreateTopicsRequest
from kctl.client.protocol.decoder import compile_decoder
from kctl.client.protocol.frame_slice import FrameSlice
from kctl.client.protocol.pieces import Pieces
from kctl.client.protocol.primitives import Malformed, uvarint
from kctl.client.protocol.schema import Message, Struct, field


def compiled(message: Message, version: int) -> bytes:
    """The bytes that the compiled encoder makes."""
    parts: list[bytes] = []
    codec.encoder(type(message), version)(message, parts)
    return b"".join(parts)


M = TypeVar("M", bound=Message)


def tagged(message: M, tag: int, raw: bytes) -> M:
    """The message with an unknown tagged field."""
    message.unknown_tagged_fields[tag] = raw
    return message


GOLDEN: list[tuple[Message, int, str]] = [
    (MetadataRequest(topics=None), 1, "ffffffff"),
    (MetadataRequest(topics=[]), 0, "00000000"),
    (MetadataRequest(topics=[MetadataRequestTopic(name="ab")]), 4, "00000001 0002 6162 01"),
    (MetadataRequest(topics=None), 9, "00 01 00 00 00"),
    (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 12, "02" + "00" * 16 + "00 00 01 00 00"),
    (ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, max_version=4)]), 0, "0000 00000001 0012 0000 0004"),
    (
        tagged(ApiVersionsResponse(finalized_features_epoch=7), 9, b"xy"),
        3,
        "0000 01 00000000 02 01 08 0000000000000007 09 02 7879",
    ),
]


@pytest.mark.parametrize(("message", "version", "data"), GOLDEN)
def test_golden_bytes(message: Message, version: int, data: str) -> None:
    raw = bytes.fromhex(data)
    assert compiled(message, version) == raw
    assert codec.encode(message, version) == raw
    assert codec.decode(type(message), raw, version) == message
    assert codec.decoder(type(message), version)(raw, 0) == (message, len(raw))


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_buffer_is_read_and_its_bytes_are_copied_out(wrap: Any) -> None:
    data = PartitionData(records=b"r" * 2000)
    message = FetchResponse(responses=[FetchableTopicResponse(topic="é", partitions=[data])])
    raw = codec.encode(message, 11)
    for _ in range(4):
        again = codec.decode(FetchResponse, wrap(raw), 11)
        assert again == message
        assert type(again.responses[0].partitions[0].records) is bytes


def test_records_stay_in_the_frame_where_that_is_asked_for() -> None:
    data = PartitionData(records=b"r" * 2000)
    message = FetchResponse(responses=[FetchableTopicResponse(topic="é", partitions=[data, PartitionData()])])
    raw = codec.encode(message, 11)
    again, end = codec.decode_prefix(FetchResponse, b"head" + raw, 11, 4, in_place=True)
    assert (again, end) == (message, 4 + len(raw))
    records: object = again.responses[0].partitions[0].records
    assert isinstance(records, FrameSlice)
    assert len(records) == 2000
    assert records.frame == b"head" + raw
    assert again.responses[0].partitions[1].records is None
    for cut in range(0, len(raw), 97):
        with pytest.raises(RemoteProtocolError):
            codec.decode_prefix(FetchResponse, raw[:cut], 11, in_place=True)


def test_records_in_pieces_are_encoded_as_bytes_are_and_not_copied() -> None:
    head, body = b"h" * 61, b"r" * 2000

    def request(records: object) -> ProduceRequest:
        partition = PartitionProduceData(records=cast("bytes", records))
        return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])

    pieces = Pieces(head, body)
    assert (bytes(pieces), len(pieces)) == (head + body, 2061)
    for version in (3, 9):  # the first uses are walked
        expected = codec.encode(request(head + body), version)
        assert [codec.encode(request(pieces), version) for _ in range(4)] == [expected] * 4
        assert any(part is body for part in codec.encode_parts(request(pieces), version))
        with pytest.raises(LocalProtocolError, match="records"):
            codec.encode(request(bytearray(head)), version)


def test_slice_keeps_no_frame_that_has_much_more() -> None:
    half = FrameSlice(b"0123456789", 5, 10)
    assert half.compact() is half
    less = FrameSlice(b"0123456789", 5, 9).compact()
    assert (bytes(less), less.frame) == (b"5678", b"5678")
    assert FrameSlice.of(b"abc").frame == b"abc"
    assert FrameSlice.of(half) is half


def test_offset_skips_what_is_before() -> None:
    raw = codec.encode(MetadataRequest(topics=None), 9)
    assert codec.decode(MetadataRequest, b"header" + raw, 9, 6) == MetadataRequest(topics=None)


@pytest.mark.parametrize("use", range(4))
def test_a_bad_field_is_named_whether_walked_or_compiled(use: int) -> None:
    message = MetadataResponse(brokers=[MetadataResponseBroker(host="a"), MetadataResponseBroker(host="bcd")])
    raw = b"###" + codec.encode(message, 1)
    at = raw.index(b"\0\3bcd")
    with pytest.raises(RemoteProtocolError) as caught:
        codec.decode(MetadataResponse, raw[:at] + b"\x7f\xff" + raw[at + 2 :], 1, 3)
    error = caught.value
    assert (error.api, error.version, error.field, error.offset) == ("Metadata", 1, "brokers[1].host", at + 2)
    left = len(raw) - at - 2
    assert str(error) == (
        f"MetadataResponse v1: brokers[1].host: cannot read string: "
        f"32767 bytes needed, {left} bytes left (byte {at + 2})"
    )


def test_bytes_after_the_end_are_an_error() -> None:
    raw = codec.encode(MetadataRequest(topics=None), 1)
    for _ in range(4):
        with pytest.raises(
            RemoteProtocolError, match=r"MetadataRequest v1: the message has 2 extra bytes at the end \(byte 4\)"
        ):
            codec.decode(MetadataRequest, raw + b"ab", 1)


HOSTILE = {
    "the array has 2147483647 items, but only 4 bytes are left": "7fffffff 00000000",
    "invalid array length: -2": "fffffffe",
    "cannot read (int32|length of array): 4 bytes needed, 2 bytes left": "0000",
}


@pytest.mark.parametrize(("reason", "data"), HOSTILE.items())
def test_hostile_arrays(reason: str, data: str) -> None:
    for _ in range(4):
        with pytest.raises(RemoteProtocolError, match=reason):
            codec.decode(MetadataRequest, bytes.fromhex(data), 1)


def test_a_compact_string_is_no_longer_than_an_old_one() -> None:
    for size, is_allowed in ((32767, True), (32768, False)):
        name = uvarint(size + 1) + b"x" * size
        data = b"\x02" + bytes(16) + name + b"\0" + b"\0\0\0"
        if is_allowed:
            assert codec.decode(MetadataRequest, data, 12).topics is not None
            continue
        with pytest.raises(codec.FAILURES):
            codec.decoder(MetadataRequest, 12)(data, 0)
        with pytest.raises(RemoteProtocolError, match=r"topics\[0\].name: the string has 32768 bytes"):
            codec.decode(MetadataRequest, data, 12)


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ("02 3c00 3c00", "tag 60 follows tag 60"),
        ("02 3d00 3c00", "tag 60 follows tag 61"),
        ("01 3c05 00", "tagged field 60 has 5 bytes, but only 1 bytes are left"),
        ("01 ffffffff0700", "tag 2147483647 exceeds the limit"),
        ("01 0109 0000000000000007 00", "tagged field 1 has 1 unexpected bytes at the end"),
        ("01 0107 00000000000000", "finalized_features_epoch: cannot read int64: 8 bytes needed, 7 bytes left"),
        ("ffffffff0f", "the varint is incomplete"),
    ],
)
def test_hostile_tags(tags: str, reason: str) -> None:
    data = bytes.fromhex("0000 01 00000000" + tags)
    with pytest.raises(codec.FAILURES):
        codec.decoder(ApiVersionsResponse, 3)(data, 0)
    with pytest.raises(RemoteProtocolError, match=reason):
        codec.decode(ApiVersionsResponse, data, 3)


def test_a_field_that_the_version_lacks_must_be_at_its_default() -> None:
    request = MetadataRequest(allow_auto_topic_creation=False)
    for _ in range(4):
        with pytest.raises(
            LocalProtocolError, match="MetadataRequest v3: allow_auto_topic_creation: the field does not"
        ):
            codec.encode(request, 3)
    assert codec.encode(request, 4)


def test_an_ignorable_field_that_the_version_lacks_is_dropped() -> None:
    request = FetchRequest(rack_id="r", topics=[FetchTopic(topic="t", topic_id=b"i" * 16)])
    for _ in range(4):
        assert codec.encode(request, 10) == codec.encode(FetchRequest(topics=[FetchTopic(topic="t")]), 10)


WRONG: list[tuple[Message, int, str]] = [
    (MetadataRequest(topics=None), 0, "topics: the value must not be None"),
    (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 9, r"topics\[0\].name: the value must not be None"),
    (
        MetadataRequest(topics=[MetadataRequestTopic(topic_id=b"short")]),
        12,
        r"topics\[0\].topic_id: a UUID must have 16",
    ),
    (MetadataRequest(topics=["t"]), 9, r"topics\[0\]: expected MetadataRequestTopic, not str"),  # type: ignore[list-item]  # what is refused
    (tagged(MetadataRequest(), 60, b""), 8, "does not support tagged fields"),
    (tagged(ApiVersionsResponse(), 0, b""), 3, "tag 0 in unknown_tagged_fields belongs to a declared field"),
    (ApiVersionsResponse(throttle_time_ms=2**31), 1, "throttle_time_ms: 2147483648 is not a valid int32"),
    (ApiVersionsResponse(error_code="x"), 1, "error_code: 'x' is not a valid int16"),  # type: ignore[arg-type]  # what is refused
    (
        CreateTopicsRequest(topics=[CreatableTopic(name="x" * 32768)]),
        5,
        r"topics\[0\].name: the string has 32768 bytes",
    ),
    (CreateTopicsRequest(topics=[CreatableTopic(name=b"x")]), 5, r"topics\[0\].name: b'x' is not"),  # type: ignore[arg-type]  # what is refused
    (CreateTopicsRequest(topics=[CreatableTopic(name="\udcff")]), 2, r"topics\[0\].name: '\\udcff' is not"),
    (
        ProduceRequest(topic_data=[TopicProduceData(partition_data=[PartitionProduceData(records="text")])]),  # type: ignore[arg-type]  # what is refused
        9,
        r"topic_data\[0\].partition_data\[0\].records: expected bytes, not str",
    ),
]


@pytest.mark.parametrize(("message", "version", "reason"), WRONG)
def test_values_that_do_not_fit_name_their_field(message: Message, version: int, reason: str) -> None:
    with pytest.raises(codec.FAILURES):
        compiled(message, version)
    with pytest.raises(LocalProtocolError, match=f"{type(message).__name__} v{version}: .*{reason}"):
        codec.encode(message, version)
    for _ in range(3):
        with pytest.raises(LocalProtocolError):
            codec.encode(message, version)


@pytest.mark.parametrize("version", [-1, 14])
def test_versions_that_are_not_declared_are_refused(version: int) -> None:
    reason = f"MetadataRequest version {version} does not exist: use 0 to 13"
    with pytest.raises(LocalProtocolError, match=reason):
        codec.encode(MetadataRequest(), version)
    with pytest.raises(LocalProtocolError, match=reason):
        codec.decode(MetadataRequest, b"", version)
    with pytest.raises(LocalProtocolError, match=reason):
        codec.decoder(MetadataRequest, version)


def test_a_record_batch_is_passed_on_without_a_copy() -> None:
    records = bytes(100_000)
    data = [PartitionProduceData(records=records)]
    codec.encoder(ProduceRequest, 9)
    for _ in range(codec.WALKED_USES):
        codec.encode(ProduceRequest(), 9)
    parts = codec.encode_parts(ProduceRequest(topic_data=[TopicProduceData(partition_data=data)]), 9)
    assert any(part is records for part in parts)


def test_record_batch_of_the_first_request_is_passed_on_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_encoders", {})
    monkeypatch.setattr(codec, "_walked", {})
    body = bytes(100_000)
    records = cast("bytes", Pieces(b"head", body))
    request = ProduceRequest(topic_data=[TopicProduceData(partition_data=[PartitionProduceData(records=records)])])
    parts = codec.encode_parts(request, 9)
    assert any(part is body for part in parts)
    assert not codec._encoders, "it was not compiled"
    assert codec.decode(ProduceRequest, b"".join(parts), 9).topic_data[0].partition_data[0].records == b"head" + body


class Probe(Message, versions=(0, 0), flexible_from=0):
    """Declared here so that its codecs are not compiled by another test."""

    texts: list[str] = field(["string"], "0+", factory=list)


def test_small_and_rare_messages_are_walked_and_others_compiled() -> None:
    raw = walker.encode(Probe(texts=["a"]), 0)
    for _ in range(codec.WALKED_USES):
        codec.decode(Probe, raw, 0)
        codec.encode(Probe(), 0)
    assert not any("Probe_v0" in name for name in linecache.cache)
    codec.decode(Probe, raw, 0)
    codec.encode(Probe(), 0)
    assert {"<kctl decode Probe_v0 bytes>", "<kctl encode Probe_v0>"} <= set(linecache.cache)


def test_a_large_message_is_compiled_at_once() -> None:
    raw = walker.encode(Large(text="x" * codec.WALKED_BYTES), 0)
    codec.decode(Large, raw, 0)
    assert "<kctl decode Large_v0 bytes>" in linecache.cache


def test_message_of_many_items_is_encoded_by_compiled_code_at_once() -> None:
    few = Nested(outer=[Outer(inner=[Inner()]) for _ in range(codec.WALKED_ITEMS // 2)])
    codec.encode(few, 0)
    assert "<kctl encode Nested_v0>" not in linecache.cache
    many = Nested(outer=[*few.outer, Outer(inner=[Inner()])])
    assert codec.encode(many, 0) == walker.encode(many, 0)
    assert "<kctl encode Nested_v0>" in linecache.cache


class Inner(Struct):
    """An item of an item."""

    number: int = field("int32", "0+", default=0)


class Outer(Struct):
    """An item."""

    inner: list[Inner] = field([Inner], "0+", factory=list)


class Nested(Message, versions=(0, 0), flexible_from=0):
    """Declared here for the same reason."""

    outer: list[Outer] = field([Outer], "0+", factory=list)


class Large(Message, versions=(0, 0), flexible_from=0):
    """Declared here for the same reason."""

    text: str = field("string", "0+", default="")


@pytest.mark.parametrize("view", [False, True])
def test_text_that_informs_may_hold_bytes_that_are_not_utf8(view: bool) -> None:
    good = FindCoordinatorResponse(error_message="A", host="H")
    damaged = codec.encode(good, 1).replace(b"A", b"\xff")
    for _ in range(codec.WALKED_USES + 2):  # walked, then compiled
        data = memoryview(damaged) if view else damaged
        assert codec.decode(FindCoordinatorResponse, data, 1).error_message == "\ufffd"
    with pytest.raises(RemoteProtocolError, match="not UTF-8"):
        codec.decode(FindCoordinatorResponse, codec.encode(good, 1).replace(b"H", b"\xff"), 1)


def test_message_with_too_many_structs_is_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [DescribedGroup(group_id="g", members=[DescribedGroupMember()] * 3) for _ in range(2)]
    data = walker.encode(DescribeGroupsResponse(groups=topics), 5)
    most = 7
    monkeypatch.setattr(walker, "MOST_STRUCTS", most)
    monkeypatch.setattr("kctl.client.protocol.decoder.MOST_STRUCTS", most)
    decode = compile_decoder(DescribeGroupsResponse, 5, view=False)
    with pytest.raises(Malformed, match="structs"):
        decode(data, 0)
    with pytest.raises(RemoteProtocolError, match=r"groups\[1\]\.members: with an array of 3 structs, .* limit of 7"):
        walker.decode(DescribeGroupsResponse, data, 5)
    monkeypatch.setattr(walker, "MOST_STRUCTS", most + 1)
    monkeypatch.setattr("kctl.client.protocol.decoder.MOST_STRUCTS", most + 1)
    expected = walker.decode(DescribeGroupsResponse, data, 5)
    assert compile_decoder(DescribeGroupsResponse, 5, view=False)(data, 0) == (expected, len(data))
