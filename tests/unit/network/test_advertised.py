"""Whose fault a failed attempt is: that of the node, or that of what it advertises."""

import pytest

from kctl.client.cluster import Node
from kctl.client.errors import (
    AdvertisedAddressError,
    AuthenticationError,
    ConnectionRefused,
    DnsError,
    HostnameMismatch,
    KafkaError,
    LoginServerUnavailable,
    TransportError,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.network.advertised import AdvertisedAddresses
from kctl.client.network.connect_errors import located

BOOTSTRAP = Node(-1, "kafka.example", 9092)
ADVERTISED = Node(1, "127.0.0.1", 9092)
REFUSED = located(Target(1, 1, "127.0.0.1", 9092, ""), Phase.TCP, ConnectionRefused("connection refused"))


def _learnt() -> AdvertisedAddresses:
    addresses = AdvertisedAddresses()
    addresses.learn([BOOTSTRAP])
    addresses.learn([ADVERTISED])
    return addresses


def test_an_advertised_address_that_never_worked() -> None:
    error = _learnt().attribute(ADVERTISED, REFUSED, 0)
    assert isinstance(error, AdvertisedAddressError)
    assert (error.node_id, error.cause, error.retriable) == (1, REFUSED, True)
    assert (error.phase, error.host, error.port) == ("tcp", "127.0.0.1", 9092)
    assert str(error) == ("bootstrap ok, but broker 1 advertises 127.0.0.1:9092: connection refused [phase tcp]")
    assert error.hint.startswith("start the broker if it is down. Otherwise, fix advertised.listeners")


@pytest.mark.parametrize(
    ("error", "ending"), [(DnsError("NXDOMAIN"), "make its host name resolve"), (WrongPeerError("HTTP"), "the broker")]
)
def test_hint_about_an_advertised_address_follows_what_was_met_there(error: TransportError, ending: str) -> None:
    blamed = _learnt().attribute(ADVERTISED, error, 0)
    assert isinstance(blamed, AdvertisedAddressError)
    hint = blamed.hint
    assert hint.startswith("fix advertised.listeners of the broker")
    assert hint.endswith(ending)


def test_a_bootstrap_entry_is_never_judged_so_nor_a_broker_at_the_same_place() -> None:
    addresses = _learnt()
    assert addresses.attribute(BOOTSTRAP, REFUSED, 0) is REFUSED
    assert addresses.attribute(Node(7, "kafka.example", 9092), REFUSED, 0) is REFUSED


def test_server_of_logins_that_does_not_respond_is_not_blamed_on_the_advertised_address() -> None:
    addresses = _learnt()
    error = LoginServerUnavailable("cannot get an OAUTHBEARER token", DnsError("NXDOMAIN"))
    assert (addresses.attribute(ADVERTISED, error, 0), addresses.error(1)) == (error, None)


def test_a_broker_that_worked_is_down_and_not_wrongly_advertised() -> None:
    addresses = _learnt()
    addresses.attribute(ADVERTISED, REFUSED, 0)
    addresses.worked(ADVERTISED)
    assert addresses.error(1) is None
    assert addresses.attribute(ADVERTISED, REFUSED, 0) is REFUSED


@pytest.mark.parametrize("error", [AuthenticationError("no"), HostnameMismatch("for others")])
def test_credentials_and_certificates_are_their_own_causes(error: KafkaError) -> None:
    assert _learnt().attribute(ADVERTISED, error, 0) is error


def test_a_wrong_peer_is_as_final_there_as_anywhere() -> None:
    assert not _learnt().attribute(ADVERTISED, WrongPeerError("the server is an HTTP server"), 0).retriable


def test_advertised_address_is_remembered_while_the_client_rebootstraps() -> None:
    addresses = _learnt()
    error = addresses.attribute(ADVERTISED, REFUSED, 0)
    addresses.learn([BOOTSTRAP])
    assert addresses.error(1) is error
    assert addresses.errors == [error]


@pytest.mark.parametrize("now", [Node(1, "elsewhere", 9092), Node(2, "127.0.0.1", 9092)])
def test_advertised_address_is_forgotten_when_the_cluster_no_longer_has_it(now: Node) -> None:
    addresses = _learnt()
    addresses.attribute(ADVERTISED, REFUSED, 0)
    addresses.learn([now])
    assert addresses.errors == []
