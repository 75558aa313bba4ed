"""What a declared class is: keywords, Kafka's defaults, slots, equality, a repr that hides bytes."""

import pytest

from kctl.client.protocol.api.fetch import FetchRequest, FetchResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.produce import PartitionProduceData
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kctl.client.protocol.schema import NEVER, NO_VERSIONS, parse_versions


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3", (3, 3)), ("3-7", (3, 7)), ("0+", (0, NEVER - 1)), ("none", NO_VERSIONS)],
)
def test_versions(text: str, versions: tuple[int, int]) -> None:
    assert parse_versions(text) == versions


def test_facts_of_the_class() -> None:
    assert MetadataRequest.API_KEY == 3
    assert MetadataRequest.NAME == MetadataResponse.NAME == "Metadata"
    assert MetadataRequest.VALID_VERSIONS == (0, 13)
    assert MetadataRequest.FLEXIBLE_FROM == 9
    assert MetadataRequest.RESPONSE is MetadataResponse
    assert SaslHandshakeRequest.FLEXIBLE_FROM == NEVER


def test_defaults_are_those_of_kafka() -> None:
    request = FetchRequest()
    assert request.max_bytes == 2**31 - 1
    assert request.session_epoch == -1
    assert request.topics == []
    assert request.replica_state.replica_epoch == -1
    assert request.unknown_tagged_fields == {}


def test_defaults_are_not_shared() -> None:
    first, second = FetchRequest(), FetchRequest()
    first.topics.append(object())  # type: ignore[arg-type]  # any object shows it
    first.replica_state.replica_id = 7
    first.unknown_tagged_fields[60] = b""
    assert second == FetchRequest()


def test_none_is_not_the_default() -> None:
    assert MetadataRequest(topics=None).topics is None
    assert MetadataRequest().topics == []


def test_only_keywords_and_only_known_ones() -> None:
    with pytest.raises(TypeError):
        MetadataRequest([])  # type: ignore[call-arg]  # the mistake under test
    with pytest.raises(TypeError, match="topicz"):
        MetadataRequest(topicz=[])  # type: ignore[call-arg]  # the mistake under test


def test_slots() -> None:
    with pytest.raises(AttributeError):
        MetadataRequest().topicz = []  # type: ignore[attr-defined]  # the mistake under test


def test_equality_is_by_value_and_class() -> None:
    assert MetadataRequest(topics=[MetadataRequestTopic(name="t")]) == MetadataRequest(
        topics=[MetadataRequestTopic(name="t")]
    )
    assert MetadataRequest(topics=[MetadataRequestTopic(name="t")]) != MetadataRequest(
        topics=[MetadataRequestTopic(name="u")]
    )
    tagged = MetadataRequest()
    tagged.unknown_tagged_fields[60] = b""
    assert tagged != MetadataRequest()
    assert MetadataRequest() != MetadataResponse()
    with pytest.raises(TypeError, match="unhashable"):
        hash(MetadataRequest())


def test_repr_shows_no_bytes() -> None:
    text = repr(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
    assert text == "SaslAuthenticateRequest(auth_bytes=<13 bytes>)"
    assert repr(PartitionProduceData(records=bytes(1000))) == "PartitionProduceData(index=0, records=<1000 bytes>)"
    assert repr(PartitionProduceData()) == "PartitionProduceData(index=0, records=None)"
    tagged = MetadataRequestTopic(name="t")
    tagged.unknown_tagged_fields[60] = b"secret"
    assert repr(tagged) == f"MetadataRequestTopic(topic_id={'A' * 22}, name='t', unknown_tagged_fields={{60: 6 bytes}})"


def test_a_response_knows_its_api_too() -> None:
    assert FetchResponse.API_KEY == FetchRequest.API_KEY == 1
