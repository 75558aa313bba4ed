"""Requests without answers: done when their bytes were taken, failed with their connection."""

from kctl.client.network.request_table import OneWayRequest, OneWayRequests
from tests.unit.network.wired import Wired


def test_they_are_done_when_the_system_has_taken_their_bytes() -> None:
    unsent = {7: 100}
    requests = OneWayRequests(lambda channel: unsent[channel])
    request = OneWayRequest(1, 9, lambda _: None)
    requests.add(Wired().connection, request)
    assert requests.pop_written() == []
    unsent[7] = 0
    assert requests.pop_written() == [request]
    assert requests.pop_written() == []


def test_they_go_with_their_connection() -> None:
    requests = OneWayRequests(lambda _: 100)
    connection = Wired().connection
    request = OneWayRequest(1, 9, lambda _: None)
    requests.add(connection, request)
    assert requests.pop_of(connection) == [request]
    assert requests.pop_of(connection) == []
