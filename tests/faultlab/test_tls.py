"""Certificates that are refused, on the sandbox; real Kafka is in test_kafka.py."""

from pathlib import Path

import pytest

from kctl.client.security.tls import server_context
from kctl.sandbox import Sandbox
from kctl.sandbox.node import ListenerSecurity
from tests.faultlab.lab import LONG, check, check_at_once, run_all
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have
from tests.unit.security.certificates import Authority


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return have(lambda: make_certificates(tmp_path_factory.mktemp("certificates")))


def _client(folder: Path, ca: Path, *more: str) -> tuple[str, str]:
    file = folder / "client.properties"
    lines = ["security.protocol=SSL", "ssl.truststore.type=PEM", f"ssl.truststore.location={ca}", *more]
    file.write_text("\n".join(lines) + "\n")
    return "--command-config", str(file)


def test_a_good_certificate_is_taken(certificates: Certificates, tmp_path: Path) -> None:
    security = ListenerSecurity(server_context(certificates.broker.read_text()))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        runs = run_all(served.bootstrap, *_client(tmp_path, certificates.ca), limits=LONG)
    assert {run.code for run in runs.values()} == {0}, runs


@pytest.mark.parametrize(("name", "number"), [("expired", 19), ("wrong_host", 21)])
def test_certificates(name: str, number: int, certificates: Certificates, tmp_path: Path) -> None:
    security = ListenerSecurity(server_context(getattr(certificates, name).read_text()))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        runs = run_all(served.bootstrap, *_client(tmp_path, certificates.ca), limits=LONG)
    for run in runs.values():
        check(number, run)
        check_at_once(run)


def test_22_an_unknown_authority(certificates: Certificates, tmp_path: Path) -> None:
    security = ListenerSecurity(server_context(certificates.broker.read_text()))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        runs = run_all(served.bootstrap, *_client(tmp_path, certificates.stranger_ca), limits=LONG)
    for run in runs.values():
        check(22, run)
        check_at_once(run)


def test_20_a_certificate_that_is_not_valid_yet(tmp_path: Path) -> None:
    authority = have(lambda: Authority(tmp_path / "ca", "kctl early ca"))
    early = authority.issue("early", begins="20890101000000Z", ends="20900101000000Z")
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.pem)
    with Sandbox(nodes=1, topics={"t": 1}, security=ListenerSecurity(server_context(early))).serve() as served:
        runs = run_all(served.bootstrap, *_client(tmp_path, ca), limits=LONG)
    for run in runs.values():
        check(20, run)
        check_at_once(run)
