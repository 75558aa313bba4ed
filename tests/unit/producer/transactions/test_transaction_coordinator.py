"""The look-up of a coordinator, and what happens while it is silent."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import ConnectionLost, FatalTransactionError
from kctl.client.producer.transactions.states import State, Step
from kctl.client.protocol.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.requests.coordinator import PROMPT, RECHECK_MS
from tests.unit.producer.transactions.fakes import BACKOFF_MS, NAME, Setup


def _refuse(setup: Setup, code: ErrorCode) -> None:
    sent = setup.network.take()
    assert isinstance(sent.request, FindCoordinatorRequest)
    sent.answer(FindCoordinatorResponse(coordinators=[Coordinator(key=NAME, error_code=int(code))]))
    setup.run()


def test_the_name_is_asked_for_with_the_key_type_of_transactions() -> None:
    setup = Setup()
    setup.call(Step.INIT)
    request = setup.network.take().request
    assert isinstance(request, FindCoordinatorRequest)
    assert (request.key_type, request.coordinator_keys) == (1, [NAME])


def test_requests_have_a_connection_of_their_own() -> None:
    setup = Setup().initialized()
    assert setup.network.dedicated[PROMPT][1:3] == ("host2", 9092)


def test_a_look_up_that_failed_is_repeated_after_a_pause() -> None:
    setup = Setup()
    setup.call(Step.INIT)
    _refuse(setup, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    setup.advance(BACKOFF_MS // 2)
    assert setup.names() == []
    setup.advance(BACKOFF_MS)
    assert setup.names() == ["FindCoordinator"]


def test_a_look_up_without_the_right_ends_the_producer() -> None:
    setup = Setup()
    call = setup.call(Step.INIT)
    _refuse(setup, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert isinstance(call.error, FatalTransactionError)


@pytest.mark.parametrize("has_moved", [True, False])
def test_another_broker_is_asked_while_the_coordinator_is_silent(*, has_moved: bool) -> None:
    setup = Setup(2).with_partition()
    call = setup.call(Step.COMMIT)
    first = setup.sent()
    setup.advance(RECHECK_MS - 1)
    assert setup.names() == []
    setup.advance(1)
    look = setup.network.take()
    assert look.node_id != 2
    setup.found(look, node_id=3 if has_moved else 2)
    if not has_moved:
        assert setup.network.closed == []
        setup.answer(first)
        assert call.is_done
        return
    assert setup.network.closed[0][0] == PROMPT
    setup.lose(first, ConnectionLost("closed"))
    setup.advance(2 * BACKOFF_MS)
    again = setup.sent()
    assert setup.network.dedicated[PROMPT][1:3] == ("host3", 9092)
    setup.answer(again)
    assert (call.is_done, setup.state) == (True, State.READY)


def test_one_that_lost_its_connection_is_not_asked_who_coordinates() -> None:
    setup = Setup(2).with_partition()
    setup.network.up.remove(2)
    setup.network.up.insert(0, 2)
    setup.network.nodes = [setup.network.nodes[1], setup.network.nodes[0], setup.network.nodes[2]]
    setup.call(Step.COMMIT)
    sent = setup.sent()
    assert sent.node_id == PROMPT
    setup.lose(sent, ConnectionLost("gone"))
    setup.advance(2 * BACKOFF_MS)
    assert setup.network.take().node_id == 1
