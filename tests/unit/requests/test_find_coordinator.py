"""FindCoordinator: what to try if nobody coordinates, for groups and for transactions."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError
from kctl.client.protocol.api.find_coordinator import FindCoordinatorResponse
from kctl.client.requests.find_coordinator import KeyType, coordinators_in


@pytest.mark.parametrize(
    ("key_type", "topic"), [(KeyType.GROUP, ""), (KeyType.TRANSACTION, "__transaction_state")], ids=str
)
def test_hint_names_the_topic_of_the_coordinator(key_type: KeyType, topic: str) -> None:
    response = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    error = coordinators_in(response, key_type, ["x"])["x"]
    assert isinstance(error, BrokerError)
    assert topic in error.hint
    assert "__consumer_offsets" not in error.hint
