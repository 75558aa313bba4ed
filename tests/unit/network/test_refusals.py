"""BootstrapRefusal: errors of bootstrap servers that end a call before its deadline, in every mixture."""

from typing import cast

import pytest

from kctl.client.errors import (
    ConnectionLost,
    ConnectionRefused,
    KafkaError,
    NoCommonTls,
    SaslRequired,
    TlsNotAnswered,
    TransportError,
    UntrustedCertificate,
    WrongPeerError,
)
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.refusals import BootstrapRefusal

LIMIT_MS = 5000


class Servers:
    """Bootstrap servers and the last error of each."""

    def __init__(self, count: int) -> None:
        self.errors: dict[int, KafkaError] = {}
        self.refusal = BootstrapRefusal(cast(ClusterConnectionStates, self), LIMIT_MS)
        self._nodes = range(count)

    def error(self, node_id: int) -> KafkaError | None:
        return self.errors.get(node_id)

    def found(self, now_ms: int = 0) -> TransportError | None:
        return self.refusal.error(self._nodes, now_ms)


@pytest.mark.parametrize("definite", [UntrustedCertificate, NoCommonTls, WrongPeerError])
@pytest.mark.parametrize("mismatch", [TlsNotAnswered, SaslRequired])
def test_untrusted_server_and_one_of_another_protocol_fail_the_call_after_the_second_attempt(
    definite: type[TransportError], mismatch: type[TransportError]
) -> None:
    servers = Servers(2)
    servers.errors = {0: definite("certificate", hint="trust it")}
    assert servers.found() is None
    servers.errors[1] = mismatch("closed")
    assert servers.found() is None, "a server that restarts looks like this once"
    servers.errors[1] = mismatch("closed")
    error = servers.found()
    assert type(error) is definite
    assert str(error) == "no bootstrap server accepted a connection after 2 attempts: certificate (and 1 more)"
    assert error.hint.startswith("trust it, or use ")


def test_untrusted_server_and_one_that_refuses_have_the_timeout_of_refusals() -> None:
    servers = Servers(2)
    servers.errors = {0: UntrustedCertificate("certificate"), 1: ConnectionRefused("refused")}
    assert servers.found(0) is None
    assert servers.found(LIMIT_MS - 1) is None
    assert isinstance(servers.found(LIMIT_MS), UntrustedCertificate)


@pytest.mark.parametrize("other", [None, ConnectionLost("reset")])
def test_server_that_may_still_respond_is_waited_for(other: KafkaError | None) -> None:
    servers = Servers(2)
    servers.errors = {0: UntrustedCertificate("certificate")}
    if other is not None:
        servers.errors[1] = other
    assert servers.found(0) is servers.found(10 * LIMIT_MS) is None
