from random import Random

import pytest

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import ManualClock, Timer
from kctl.client.config import ClientConfig
from kctl.client.errors import Account, ApiTimeout, AuthenticationError, ConnectionRefused
from kctl.client.metadata import Metadata
from tests.unit.fake_network import FakeClient


@pytest.fixture
def client() -> FakeClient:
    clock = ManualClock()
    metadata = Metadata(max_age_ms=300_000, backoff=ExponentialBackoff(100, 1000, Random(1)))
    return FakeClient(ClientConfig.parse({"bootstrap.servers": "a:1"}), clock, metadata)


def test_a_condition_that_holds_is_not_waited_for(client: FakeClient) -> None:
    client.wait_until(lambda: True, Timer(client.clock, 0), "nothing")
    assert client.fake.polls == []


def test_the_wait_ends_at_the_deadline_and_says_why(client: FakeClient) -> None:
    refused = ConnectionRefused("refused")
    client.fake.failures[-1] = refused
    timer = Timer(client.clock, 1500)
    with pytest.raises(ApiTimeout, match=r"1500 ms of 1500 ms .* passed while looking") as caught:
        client.wait_until(lambda: False, timer, "looking")
    assert client.clock.now_ms() == 1500
    assert caught.value.cause is refused
    assert caught.value.account == Account(("connecting 1500 ms",), 0, (refused,))


def test_a_fatal_error_is_raised_at_once(client: FakeClient) -> None:
    client.fake.fatal = AuthenticationError("no")
    with pytest.raises(AuthenticationError):
        client.wait_until(lambda: False, Timer(client.clock, 1500), "looking")
    assert client.clock.now_ms() == 0


def test_a_poll_waits_no_longer_than_until_the_metadata_is_due(client: FakeClient) -> None:
    client.metadata.want_topics(["t"])
    client.fake.up = [-1]
    client.poll(client.clock.now_ms() + 700)
    client.fake.take().fail(ConnectionRefused("gone"))
    client.poll(client.clock.now_ms() + 10_000)
    waited_ms = client.fake.polls[-1]
    assert 80 <= waited_ms <= 120


def test_the_ledger_tells_the_time_since_a_mark(client: FakeClient) -> None:
    client.poll(client.clock.now_ms() + 30)
    mark = client.ledger_mark()
    client.poll(client.clock.now_ms() + 12)
    client.metadata.want_topics(["t"])
    client.fake.up = [-1]
    client.poll(client.clock.now_ms() + 700)
    assert client.account_since(mark).ledger == ("metadata 700 ms", "connecting 12 ms")
