"""The reasons why the leader of a partition cannot be asked."""

from types import SimpleNamespace
from typing import Any

from kctl.client.cluster import Cluster
from kctl.client.errors import AdvertisedAddressError, ConnectionRefused
from kctl.client.requests.leaders import Leaders


def test_advertised_address_that_fails_has_the_words_that_it_has_without_a_leader() -> None:
    client: Any = SimpleNamespace(metadata=SimpleNamespace(cluster=Cluster()))
    leaders = Leaders(client)
    refused = ConnectionRefused("kafka:9092: connection refused")
    error = AdvertisedAddressError(1, refused)
    assert leaders.not_ready_reason(1, error) == "bootstrap ok, but broker 1 advertises kafka:9092: connection refused"
    assert leaders.not_ready_reason(1, refused).startswith("leader broker 1 cannot be reached: ")
