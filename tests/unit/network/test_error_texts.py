"""Brokers that repeat the credentials of a login in error messages."""

from base64 import b64encode

from kctl.client.masking import MASK
from kctl.client.network.error_texts import mask_error_messages
from kctl.client.network.handshake import Handshake
from kctl.client.network.states import ConnectionState
from kctl.client.protocol.api.fetch import FetchResponse
from kctl.client.protocol.api.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kctl.client.protocol.api.topics import CreatableTopicResult, CreateTopicsResponse
from kctl.client.protocol.versions import NodeVersions
from kctl.client.security.sasl.plain import PlainClient

PASSWORD = "canary-pw-77"
REPEATED = f"bad: {PASSWORD} {b64encode(PASSWORD.encode()).decode()}"


def logged_in() -> Handshake:
    handshake = Handshake(lambda: PlainClient("me", PASSWORD))
    handshake.versions = NodeVersions({17: (0, 1)}, {})
    handshake.next_request(ConnectionState.SASL_HANDSHAKE)
    return handshake


def test_password_is_masked_in_error_messages_at_each_depth() -> None:
    record = BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message=REPEATED)
    part = PartitionProduceResponse(error_message=REPEATED, record_errors=[record])
    produced = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[part])])
    created = CreateTopicsResponse(topics=[CreatableTopicResult(name=PASSWORD, error_message=REPEATED)])
    for response in (produced, created):
        logged_in().mask(response)
    for text in (part.error_message, record.batch_index_error_message, created.topics[0].error_message):
        assert text is not None
        assert text.startswith(f"bad: {MASK} {MASK}")
    assert created.topics[0].name == PASSWORD  # only texts for people change


def test_response_without_error_messages_is_not_searched() -> None:
    response = FetchResponse()
    response.responses = None  # type: ignore[assignment]
    mask_error_messages(response, str.upper)


def test_client_without_a_login_masks_nothing() -> None:
    created = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_message=REPEATED)])
    Handshake(None).mask(created)
    assert created.topics[0].error_message == REPEATED
