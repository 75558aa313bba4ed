"""Messages as JSON: names in each case, types, and mistakes that are told by their place."""

import pytest

from kctl.client.protocol.api.client_quotas import AlterClientQuotasRequest, ValueData
from kctl.client.protocol.api.fetch import FetchRequest
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest
from kctl.client.protocol.api.topics import CreatableTopic, CreateTopicsRequest
from kctl.client.protocol.json_form import JsonFormError, from_json, to_json


@pytest.mark.parametrize("name", ["AllowAutoTopicCreation", "allowAutoTopicCreation", "allow_auto_topic_creation"])
def test_names_are_read_in_each_case_of_kafka(name: str) -> None:
    assert from_json(MetadataRequest, {name: False}, 9) == MetadataRequest(allow_auto_topic_creation=False)


def test_fields_left_out_have_the_defaults_of_kafka() -> None:
    read = from_json(CreateTopicsRequest, {"topics": [{"name": "orders", "numPartitions": 3}]}, 7)
    assert read == CreateTopicsRequest(topics=[CreatableTopic(name="orders", num_partitions=3)])
    assert read.timeout_ms == 60_000


def test_names_are_written_in_camel_case_and_only_those_of_the_version() -> None:
    written = to_json(MetadataRequest(topics=[MetadataRequestTopic(name="a")]), 9)
    assert written == {
        "topics": [{"name": "a"}],
        "allowAutoTopicCreation": True,
        "includeClusterAuthorizedOperations": False,
        "includeTopicAuthorizedOperations": False,
    }
    assert "clusterId" in to_json(MetadataResponse(), 9)
    assert "clusterId" not in to_json(MetadataResponse(), 1)


def test_bytes_are_base64_and_topic_ids_as_the_tools_of_kafka_write_them() -> None:
    assert to_json(SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), 2) == {"authBytes": "AGEAYg=="}
    topic_id = to_json(MetadataRequestTopic(topic_id=bytes(range(16)), name=None), 12)["topicId"]
    assert topic_id == "AAECAwQFBgcICQoLDA0ODw"
    assert from_json(MetadataRequest, {"topics": [{"topicId": topic_id}]}, 12).topics == [
        MetadataRequestTopic(topic_id=bytes(range(16)))
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "expected an object, not an array"),
        ({"topics": 5}, "topics: expected an array, not 5"),
        ({"topics": [{"name": 5}]}, "topics[0].name: expected a string, not 5"),
        (
            {"topics": [{"nam": "a"}]},
            "topics[0].nam: the field is unknown. Fields of MetadataRequestTopic: topicId, name",
        ),
        ({"topics": [{"topicId": "short"}]}, "topics[0].topicId: expected an id of 22 characters, not 'short'"),
        ({"allowAutoTopicCreation": 1}, "allowAutoTopicCreation: expected true or false, not 1"),
        ({"allowAutoTopicCreation": None}, "allowAutoTopicCreation: the value must not be null"),
        (
            {"includeClusterAuthorizedOperations": True},
            "includeClusterAuthorizedOperations: the field does not exist in version 12 of this API, only in 8 to 10",
        ),
        (
            {"allowAutoTopicCreation": True, "AllowAutoTopicCreation": True},
            "AllowAutoTopicCreation: the field is set twice",
        ),
        (
            {"topics": [{"name": "\ud800"}]},
            "topics[0].name: the string is not valid Unicode: it contains a lone surrogate",
        ),
    ],
)
def test_a_mistake_names_its_place_and_what_is_expected(value: object, text: str) -> None:
    with pytest.raises(JsonFormError) as raised:
        from_json(MetadataRequest, value, 12)
    assert str(raised.value) == text


@pytest.mark.parametrize("value", [True, 2**31, -(2**31) - 1, 1.0, "1", None])
def test_an_integer_out_of_its_range_or_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(JsonFormError, match="maxWaitMs: "):
        from_json(FetchRequest, {"maxWaitMs": value}, 12)


def test_bytes_that_are_no_base64_are_refused() -> None:
    with pytest.raises(JsonFormError, match=r"authBytes: expected base64"):
        from_json(SaslAuthenticateRequest, {"authBytes": "?"}, 2)


def test_numbers_that_json_does_not_have_are_written_as_text_and_too_large_ones_refused() -> None:
    entry = ValueData(value=float("nan"))
    assert to_json(entry, 0)["value"] == "nan"
    assert to_json(ValueData(value=-1.5), 0)["value"] == -1.5
    change = {"entries": [{"entity": [], "ops": [{"key": "a", "value": 10**400, "remove": False}]}]}
    with pytest.raises(JsonFormError, match=r"entries\[0\].ops\[0\].value: the number is too large for 64 bits"):
        from_json(AlterClientQuotasRequest, change, 1)
