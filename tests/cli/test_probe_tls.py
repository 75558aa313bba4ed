"""`kctl probe` and TLS: the certificate report, what is asked for, and the other protocol where ours does not fit."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.security.tls import server_context
from kctl.sandbox import ListenerSecurity, Sandbox
from tests.cli.processes import Ended, kctl
from tests.unit.security.certificates import Authority


class Secured:
    """A cluster that speaks TLS and asks for client certificates, and the file that a client needs."""

    def __init__(self, bootstrap: str, config: Path) -> None:
        self.bootstrap = bootstrap
        self._config = config

    def probe(self, *options: str, protocol: str = "SSL") -> Ended:
        return kctl(
            "probe",
            "-b",
            self.bootstrap,
            "--command-config",
            str(self._config),
            "--security-protocol",
            protocol,
            *options,
        )

    def address(self, *options: str, protocol: str = "SSL") -> dict[str, Any]:
        summary = json.loads(self.probe("--output", "json", *options, protocol=protocol).stdout)
        found: dict[str, Any] = summary["addresses"][0]
        return found


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder / "ca", "test-ca")
    (folder / "trusted.pem").write_text(authority.pem)
    (folder / "me.pem").write_text(authority.issue("me"))
    config = folder / "client.properties"
    config.write_text(
        f"ssl.truststore.location={folder / 'trusted.pem'}\nssl.truststore.type=PEM\n"
        f"ssl.keystore.location={folder / 'me.pem'}\nssl.keystore.type=PEM\n"
    )
    tls = server_context(authority.issue("localhost"), client_ca_pem=authority.pem)
    with Sandbox(nodes=1, security=ListenerSecurity(tls=tls)).serve() as served:
        yield Secured(served.bootstrap, config)


def test_the_certificate_report(secured: Secured) -> None:
    ended = secured.probe("--strict")
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.decode().splitlines()
    (agreed,) = [line for line in lines if line.startswith("tls ")]
    assert agreed.startswith(f"tls {secured.bootstrap}: TLSv1.3 ")
    assert agreed.endswith(", client certificate requested")
    (certificate,) = [line for line in lines if line.startswith("  certificate CN=localhost")]
    assert "issuer CN=test-ca, until " in certificate
    assert "localhost" in certificate.rpartition(", for ")[2]


def test_certificates_that_end_soon(secured: Secured) -> None:
    ended = secured.probe("--strict", "--cert-warn", "10000d")
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert "WARNING certificate-expiring" in ended.stdout.decode()


def test_another_name(secured: Secured) -> None:
    ended = secured.probe("--sni", "other.example")
    assert ended.code == ExitCode.TLS
    assert "not for other.example" in ended.stdout.decode()
    assert secured.address("--sni", "other.example")["tls"]["asked_for"] == "other.example"


def test_a_refused_chain_is_shown(secured: Secured) -> None:
    tls = secured.address("-X", "ssl.truststore.location=/etc/ssl/certs/ca-certificates.crt")["tls"]
    assert tls["chain"][0]["subject"] == "CN=localhost"
    assert tls["version"] is None


def test_plaintext_on_a_tls_port(secured: Secured) -> None:
    ended = secured.probe(protocol="PLAINTEXT")
    assert ended.code == ExitCode.WRONG_PROTOCOL
    assert f"ERROR other-protocol {secured.bootstrap}: " in ended.stdout.decode()
    assert "hint: use --security-protocol SSL" in ended.stdout.decode()
    assert secured.address("--no-try-protocols", protocol="PLAINTEXT")["works_with"] is None


def test_tls_on_a_plaintext_port(secured: Secured, bootstrap: str) -> None:
    plain = Secured(bootstrap.split(",")[0], secured._config)
    assert plain.address()["works_with"] == "PLAINTEXT"
    assert plain.address("--no-try-protocols")["works_with"] is None
