"""Logging in: every mechanism against the client's own side, refusals, and what strangers may not do."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.api.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kctl.client.security.sasl.plain import PlainClient
from kctl.client.security.sasl.scram import ScramClient
from kctl.sandbox.connection import MOST_REQUESTS_OF_STRANGERS
from kctl.sandbox.faults import Fault
from kctl.sandbox.identity import MECHANISMS, SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.unit.sandbox.scenario import Client, NotRandom, Scenario

USERS = ListenerSecurity(users=SaslUsers({"alice": "secret"}))


def _handshake(client: Client, mechanism: str) -> SaslHandshakeResponse:
    return client.call(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, 1)


def _token(client: Client, token: bytes) -> SaslAuthenticateResponse:
    return client.call(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse)


def _log_in(client: Client, mechanism: PlainClient | ScramClient) -> None:
    assert _handshake(client, mechanism.name).error_code == ErrorCode.NONE
    token: bytes | None = mechanism.first()
    while token is not None:
        answer = _token(client, token)
        assert answer.error_code == ErrorCode.NONE
        token = mechanism.step(answer.auth_bytes)
    assert mechanism.complete


def test_plain() -> None:
    client = Scenario(security=USERS).connect()
    client.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    _log_in(client, PlainClient("alice", "secret"))
    client.call(MetadataRequest(), MetadataResponse)


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(name: str) -> None:
    client = Scenario(security=USERS).connect()
    _log_in(client, ScramClient(name, "alice", "secret", NotRandom()))
    client.call(MetadataRequest(), MetadataResponse)


def _bare(client: Client, token: bytes) -> bytes | None:
    """Send a token without a header. Return the token of the response, or None if the connection ends."""
    client.end.receive(len(token).to_bytes(4, "big") + token)
    return client.frames.pop(0) if client.frames else None


def test_behind_a_handshake_of_version_0_tokens_are_bare() -> None:
    client = Scenario(security=USERS).connect()
    assert client.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), SaslHandshakeResponse, 0).error_code == 0
    mechanism = ScramClient("SCRAM-SHA-256", "alice", "secret", NotRandom())
    token: bytes | None = mechanism.first()
    while token is not None:
        answer = _bare(client, token)
        assert answer is not None
        token = mechanism.step(answer)
    assert mechanism.complete
    client.call(MetadataRequest(), MetadataResponse)


def test_a_bare_token_that_is_refused_gets_no_bytes() -> None:
    client = Scenario(security=USERS).connect()
    client.call(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 0)
    assert _bare(client, b"\0alice\0wrong") is None
    assert client.wire.is_closed


def test_bare_tokens_are_answered_in_order_and_late_where_answers_are() -> None:
    scenario = Scenario(security=USERS)
    scenario.sandbox.start_fault(1, Fault.DELAY, ms=50)
    client = scenario.connect()
    client.send(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    scenario.scheduler.advance(50)
    client.take(SaslHandshakeResponse, 0, 1)
    assert _bare(client, b"\0alice\0secret") is None
    late = client.send(MetadataRequest(), 9)
    scenario.scheduler.advance(50)
    assert client.frames.pop(0) == b""
    assert not client.frames
    scenario.scheduler.advance(50)
    client.take(MetadataResponse, 9, late)


def test_another_request_amid_the_exchange_is_answered_and_ends_it() -> None:
    client = Scenario(security=USERS).connect()
    _handshake(client, "PLAIN")
    answer = client.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.wire.is_closed


def test_a_wrong_password_is_told_and_ends_the_connection() -> None:
    scenario = Scenario(security=USERS)
    client = scenario.connect()
    _handshake(client, "PLAIN")
    answer = _token(client, b"\0alice\0wrong")
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert client.wire.is_closed
    assert scenario.sandbox.listeners[1].refused[-1] == "authentication failed"


def test_an_unknown_mechanism_is_answered_with_the_known_ones() -> None:
    client = Scenario(security=USERS).connect()
    answer = _handshake(client, "GSSAPI")
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == list(MECHANISMS)
    assert client.wire.is_closed


def test_strangers_get_nothing_else() -> None:
    scenario = Scenario(security=USERS)
    client = scenario.connect()
    client.send(MetadataRequest(), 9)
    assert client.wire.is_closed
    assert scenario.sandbox.listeners[1].refused[-1] == "cannot process Metadata before authentication"
    other = scenario.connect()
    other.end.receive((524_289).to_bytes(4, "big"))
    assert other.wire.is_closed


def test_strangers_have_few_requests() -> None:
    scenario = Scenario(security=USERS)
    client = scenario.connect()
    for _ in range(MOST_REQUESTS_OF_STRANGERS + 1):
        assert client.wire.is_closed is False
        client.send(ApiVersionsRequest(), 3)
    assert client.wire.is_closed
    assert scenario.sandbox.listeners[1].refused[-1] == "the client sent more than 20 requests before authentication"


def test_steps_out_of_order() -> None:
    scenario = Scenario(security=USERS)
    client = scenario.connect()
    client.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2)
    assert (client.frames, client.wire.is_closed) == ([], True)
    client = scenario.connect()
    _handshake(client, "PLAIN")
    assert _handshake(client, "PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.wire.is_closed
    open_one = Scenario().connect()
    assert _handshake(open_one, "PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize(
    ("users", "protocol"), [(None, "PLAINTEXT"), (SaslUsers({}), "SASL_PLAINTEXT")], ids=["open", "sasl"]
)
def test_the_protocol_has_a_name(users: SaslUsers | None, protocol: str) -> None:
    assert ListenerSecurity(users=users).protocol == protocol
