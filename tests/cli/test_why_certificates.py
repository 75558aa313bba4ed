"""`kctl why cluster` of sandboxes with TLS: certificates that have expired, expire soon, or are for another name."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import address_of, kctl, running
from tests.support.kafka.certificates import Certificates, make_certificates, private_key, renewed_chain

Finding = dict[str, str]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def healthy(certificates: Certificates) -> Iterator[str]:
    """The address of a sandbox whose certificate is good for weeks."""
    with ExitStack() as stack:
        yield sandbox(stack, certificates.broker)


def sandbox(stack: ExitStack, certificate: Path) -> str:
    """Start a sandbox of one broker with a certificate, and return its address."""
    up = (
        "sandbox",
        "start",
        "--nodes",
        "1",
        "--port",
        "0",
        "-q",
        "--topic",
        "t",
        "--tls-certificate",
        str(certificate),
    )
    process = stack.enter_context(running(*up))
    return address_of(process)


def client(folder: Path, certificates: Certificates, *servers: str, checks_names: bool = True) -> tuple[str, str]:
    lines = [
        f"bootstrap.servers={','.join(servers)}",
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={certificates.ca}",
    ]
    path = folder / "client.properties"
    path.write_text("\n".join(lines if checks_names else [*lines, "ssl.endpoint.identification.algorithm="]) + "\n")
    return "--command-config", str(path)


def why_cluster(*options: str) -> tuple[int, dict[str, Finding]]:
    ended = kctl("why", "cluster", "--output", "jsonl", *options)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    return ended.code, {each["id"]: each for each in found if "id" in each}


def test_expired_certificate_of_one_address(tmp_path: Path, certificates: Certificates, healthy: str) -> None:
    with ExitStack() as stack:
        expired = sandbox(stack, certificates.expired)
        code, found = why_cluster(*client(tmp_path, certificates, healthy, expired))
        alone = kctl("why", "cluster", *client(tmp_path, certificates, expired))
    assert (code, set(found)) == (ExitCode.PARTIAL_FAILURE, {"certificate-expired"})
    ended = found["certificate-expired"]
    assert (ended["subject"], ended["severity"], ended["cure"]) == (
        expired,
        "error",
        "renew the certificate of the broker",
    )
    assert ended["sentence"].startswith(f"{expired}: certificate expired 20")
    assert "(CN=expired, " in ended["sentence"]
    assert (alone.code, f"{expired}: certificate expired" in alone.stderr) == (ExitCode.TLS, True)
    assert why_cluster(*client(tmp_path, certificates, healthy)) == (0, {})


def test_certificate_for_another_name(tmp_path: Path, certificates: Certificates, healthy: str) -> None:
    """Named by a client that checks names and reaches another address, and by one that does not check them."""
    with ExitStack() as stack:
        wrong = sandbox(stack, certificates.wrong_host)
        of_both = why_cluster(*client(tmp_path, certificates, healthy, wrong))
        of_one = why_cluster(*client(tmp_path, certificates, wrong, checks_names=False))
    for code, found in (of_both, of_one):
        assert (code, set(found)) == (ExitCode.PARTIAL_FAILURE, {"certificate-name"})
        assert found["certificate-name"]["sentence"] == (
            f"{wrong}: certificate is for elsewhere.invalid, not for 127.0.0.1"
        )
    assert why_cluster(*client(tmp_path, certificates, healthy, checks_names=False)) == (0, {})


@pytest.mark.parametrize(("days", "is_found"), [(3, True), (25, False)])
def test_certificate_that_expires_soon(
    tmp_path: Path, certificates: Certificates, days: int, *, is_found: bool
) -> None:
    soon = tmp_path / "soon.pem"
    soon.write_text(private_key(certificates.broker) + renewed_chain(certificates, days))
    with ExitStack() as stack:
        server = sandbox(stack, soon)
        code, found = why_cluster(*client(tmp_path, certificates, server))
    assert (code, set(found)) == ((ExitCode.PARTIAL_FAILURE, {"certificate-expiring"}) if is_found else (0, set()))
    if is_found:
        sentence = rf"{server}: the certificate of CN=broker expires on [-\d]+ \(in {days - 1} days\)"
        assert re.fullmatch(sentence, found["certificate-expiring"]["sentence"])
