"""The scenarios on the sandbox, over PLAINTEXT, SSL and SASL_SSL, on real sockets."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kctl.client.security.tls import server_context
from kctl.sandbox import Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.security import PLAIN_PASSWORD, PLAIN_USER, SCRAM_PASSWORD, SCRAM_USER, client_security
from tests.support.scenarios.command_line import groups, produce_consume_probe
from tests.support.scenarios.library import EVERY_SCENARIO

USERS = SaslUsers({PLAIN_USER: PLAIN_PASSWORD, SCRAM_USER: SCRAM_PASSWORD})
WAYS_IN = (
    pytest.param(("PLAINTEXT", None), id="PLAINTEXT", marks=pytest.mark.nightly),
    pytest.param(("SSL", None), id="SSL", marks=pytest.mark.nightly),
    pytest.param(("SASL_SSL", "PLAIN"), id="SASL_SSL-PLAIN", marks=pytest.mark.nightly),
    pytest.param(("SASL_SSL", "SCRAM-SHA-512"), id="SASL_SSL-SCRAM-SHA-512"),
)
"""The last has all that the others have; each mechanism and TLS by itself are in tests of their own, too."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=WAYS_IN)
def properties(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[Mapping[str, str]]:
    listener, mechanism = request.param
    tls = server_context(certificates.broker.read_text()) if listener.endswith("SSL") else None
    security = ListenerSecurity(tls, USERS if listener.startswith("SASL") else None)
    with Sandbox(nodes=3, security=security).serve() as served:
        yield {"bootstrap.servers": served.bootstrap, **client_security(certificates, listener, mechanism)}


@pytest.mark.parametrize("scenario", EVERY_SCENARIO, ids=lambda scenario: scenario.__name__)
def test_library(scenario: Callable[[Mapping[str, str]], None], properties: Mapping[str, str]) -> None:
    scenario(properties)


def test_command_line(properties: Mapping[str, str], tmp_path: Path) -> None:
    produce_consume_probe(properties, tmp_path)


def test_groups_on_the_command_line(properties: Mapping[str, str], tmp_path: Path) -> None:
    groups(properties, tmp_path)
