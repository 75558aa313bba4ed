from random import Random

import pytest

from kctl.client.backoff import ExponentialBackoff
from kctl.client.clock import ManualClock
from kctl.client.config import ClientConfig
from kctl.client.errors import ConnectionRefused
from kctl.client.metadata import Metadata
from tests.unit.fake_network import FakeClient


@pytest.fixture
def client() -> FakeClient:
    clock = ManualClock()
    metadata = Metadata(max_age_ms=300_000, backoff=ExponentialBackoff(100, 1000, Random(1)))
    return FakeClient(ClientConfig.parse({"bootstrap.servers": "a:1"}), clock, metadata)


def test_a_poll_waits_no_longer_than_until_the_metadata_is_due(client: FakeClient) -> None:
    client.metadata.want_topics(["t"])
    client.fake.up = [-1]
    client.poll(client.clock.now_ms() + 700)
    client.fake.take().fail(ConnectionRefused("gone"))
    client.poll(client.clock.now_ms() + 10_000)
    waited_ms = client.fake.polls[-1]
    assert 80 <= waited_ms <= 120


def test_time_breakdown_has_the_time_since_a_mark(client: FakeClient) -> None:
    client.poll(client.clock.now_ms() + 30)
    mark = client.time_mark()
    client.poll(client.clock.now_ms() + 12)
    client.metadata.want_topics(["t"])
    client.fake.up = [-1]
    client.poll(client.clock.now_ms() + 700)
    assert client.account_since(mark).time_breakdown == ("metadata 700 ms", "connecting 12 ms")
