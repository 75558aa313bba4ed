"""The look-up of a coordinator, and what happens while it is silent."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import ConnectionLost, FatalTransactionError
from kctl.client.producer.transactions.states import State, Step
from kctl.client.protocol.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.requests.coordinator import PROMPT, RECHECK_MS
from tests.unit.producer.transactions.fakes import BACKOFF_MS, NAME, Scenario


def _refuse(scenario: Scenario, code: ErrorCode) -> None:
    sent = scenario.network.take()
    assert isinstance(sent.request, FindCoordinatorRequest)
    sent.answer(FindCoordinatorResponse(coordinators=[Coordinator(key=NAME, error_code=int(code))]))
    scenario.run()


def test_the_name_is_asked_for_with_the_key_type_of_transactions() -> None:
    scenario = Scenario()
    scenario.call(Step.INIT)
    request = scenario.network.take().request
    assert isinstance(request, FindCoordinatorRequest)
    assert (request.key_type, request.coordinator_keys) == (1, [NAME])


def test_requests_have_a_connection_of_their_own() -> None:
    scenario = Scenario().initialized()
    assert scenario.network.dedicated[PROMPT][1:3] == ("host2", 9092)


def test_a_look_up_that_failed_is_repeated_after_a_pause() -> None:
    scenario = Scenario()
    scenario.call(Step.INIT)
    _refuse(scenario, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    scenario.advance(BACKOFF_MS // 2)
    assert scenario.names() == []
    scenario.advance(BACKOFF_MS)
    assert scenario.names() == ["FindCoordinator"]


def test_a_look_up_without_the_right_ends_the_producer() -> None:
    scenario = Scenario()
    call = scenario.call(Step.INIT)
    _refuse(scenario, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert isinstance(call.error, FatalTransactionError)


@pytest.mark.parametrize("has_moved", [True, False])
def test_another_broker_is_asked_while_the_coordinator_is_silent(*, has_moved: bool) -> None:
    scenario = Scenario(2).with_partition()
    call = scenario.call(Step.COMMIT)
    first = scenario.sent()
    scenario.advance(RECHECK_MS - 1)
    assert scenario.names() == []
    scenario.advance(1)
    look = scenario.network.take()
    assert look.node_id != 2
    scenario.found(look, node_id=3 if has_moved else 2)
    if not has_moved:
        assert scenario.network.closed == []
        scenario.answer(first)
        assert call.is_done
        return
    assert scenario.network.closed[0][0] == PROMPT
    scenario.lose(first, ConnectionLost("closed"))
    scenario.advance(2 * BACKOFF_MS)
    again = scenario.sent()
    assert scenario.network.dedicated[PROMPT][1:3] == ("host3", 9092)
    scenario.answer(again)
    assert (call.is_done, scenario.state) == (True, State.READY)


def test_one_that_lost_its_connection_is_not_asked_who_coordinates() -> None:
    scenario = Scenario(2).with_partition()
    scenario.network.up.remove(2)
    scenario.network.up.insert(0, 2)
    scenario.network.nodes = [scenario.network.nodes[1], scenario.network.nodes[0], scenario.network.nodes[2]]
    scenario.call(Step.COMMIT)
    sent = scenario.sent()
    assert sent.node_id == PROMPT
    scenario.lose(sent, ConnectionLost("gone"))
    scenario.advance(2 * BACKOFF_MS)
    assert scenario.network.take().node_id == 1
