"""InitProducerId: the request with and without transactions, and what is read from its response."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, RemoteProtocolError
from kctl.client.protocol.api.init_producer_id import InitProducerIdResponse
from kctl.client.requests.producer_id import NO_TIMEOUT_MS, ProducerId, init_producer_id, producer_id_in


def test_request_without_transactions_has_no_name_no_id_and_the_longest_timeout() -> None:
    request = init_producer_id()
    assert (request.transactional_id, request.transaction_timeout_ms) == (None, NO_TIMEOUT_MS)
    assert (request.producer_id, request.producer_epoch) == (-1, -1)


def test_request_of_a_transactional_id_carries_the_current_producer_id() -> None:
    request = init_producer_id("mirror", 60_000, ProducerId(7, 3))
    assert (request.transactional_id, request.transaction_timeout_ms) == ("mirror", 60_000)
    assert (request.producer_id, request.producer_epoch) == (7, 3)


def test_response_is_the_assigned_id_or_its_error() -> None:
    assert producer_id_in(InitProducerIdResponse(producer_id=7, producer_epoch=4)) == ProducerId(7, 4)
    refused = producer_id_in(InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED, producer_id=7))
    assert isinstance(refused, BrokerError)
    assert refused.code == ErrorCode.PRODUCER_FENCED
    assert str(refused).startswith("cannot obtain a producer id: ")


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, -1), (-1, 0), (-5, 0), (7, -1)])
def test_response_without_an_error_and_without_an_id_is_malformed(producer_id: int, epoch: int) -> None:
    found = producer_id_in(InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch))
    assert isinstance(found, RemoteProtocolError)
    assert str(found).endswith(f"contains id {producer_id}, epoch {epoch}")
