"""PKCS12 stores of openssl and keytool are read as they are, and their errors name the property and no secret."""

import subprocess
from pathlib import Path

import pytest

from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool
from tests.unit.security.certificates import Authority, openssl
from tests.unit.security.test_tls_settings import connects, refused, settings

PASSWORD = "hunter2"


def key_store(authority: Authority, folder: Path) -> Path:
    pem, store = folder / "alice.pem", folder / "alice.p12"
    pem.write_text(authority.issue("pkcs12", names=""))
    openssl("pkcs12", "-export", "-in", str(pem), "-out", str(store), "-passout", f"pass:{PASSWORD}")
    return store


def trust_store(authority: Authority, folder: Path) -> Path:
    have(lambda: find_tool("keytool", "openjdk-17-jdk-headless"))
    ca, store = folder / "ca.pem", folder / "trust.p12"
    ca.write_text(authority.pem)
    imported = ("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(ca), "-storepass", PASSWORD)
    command = [*imported, "-keystore", str(store), "-storetype", "PKCS12"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return store


def test_key_store_of_openssl_logs_in(authority: Authority, broker_pem: str, tmp_path: Path) -> None:
    made = settings(
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=authority.pem,
        ssl_keystore_location=str(key_store(authority, tmp_path)),
        ssl_keystore_type="PKCS12",
        ssl_keystore_password=PASSWORD,
        ssl_key_password=PASSWORD,
    )
    assert connects(made, authority, broker_pem, wants_certificate=True) == "CN=pkcs12"


@pytest.mark.slow
def test_trust_store_of_keytool_is_trusted(authority: Authority, broker_pem: str, tmp_path: Path) -> None:
    store = str(trust_store(authority, tmp_path))
    made = settings(ssl_truststore_location=store, ssl_truststore_type="PKCS12", ssl_truststore_password=PASSWORD)
    assert connects(made, authority, broker_pem) == ""


def test_wrong_password_and_damaged_store_are_named(authority: Authority, tmp_path: Path) -> None:
    store = key_store(authority, tmp_path)
    location = str(store)
    refused(
        "ssl.keystore.location",
        "cannot be read as PKCS12 with the given password",
        ssl_keystore_location=location,
        ssl_keystore_password="wrong hunter2",
    )
    refused("ssl.keystore.location", "as PKCS12 without a password", ssl_keystore_location=location)
    content = store.read_bytes()
    for damaged in (content[:40], content[:-1], b"\x30\x80" + content):
        store.write_bytes(damaged)
        refused(
            "ssl.keystore.location",
            "cannot be read as PKCS12",
            ssl_keystore_location=location,
            ssl_keystore_password=PASSWORD,
        )


@pytest.mark.slow
def test_store_without_a_key_is_no_key_store(authority: Authority, tmp_path: Path) -> None:
    refused(
        "ssl.keystore.location",
        "has no private key with its certificate",
        ssl_keystore_location=str(trust_store(authority, tmp_path)),
        ssl_keystore_password=PASSWORD,
    )


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.client.security.tls.stores.can_read_pkcs12", lambda: False)


@pytest.mark.usefixtures("without_package")
def test_without_the_package_the_error_has_the_command_that_converts(authority: Authority, tmp_path: Path) -> None:
    refused("ssl.keystore.location", "openssl pkcs12 -in", ssl_keystore_location=str(key_store(authority, tmp_path)))
