"""TLS settings from properties: what is read, what is refused, and the way out for Java's stores."""

import os
import shlex
import ssl
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest

from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError
from kctl.client.security.tls import TlsChannel, TlsSettings, server_context
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import find_tool
from tests.unit.security.certificates import Authority, openssl
from tests.unit.security.test_tls_channel import shake


def settings(**properties: object) -> TlsSettings:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return TlsSettings.from_config(
        ClientConfig.parse({"bootstrap.servers": "a:1", "security.protocol": "SSL", **given})
    )


def split(pem: str) -> tuple[str, str]:
    key, _, certificate = pem.partition("-----BEGIN CERTIFICATE-----")
    return key, "-----BEGIN CERTIFICATE-----" + certificate


def refused(key: str, why: str, **properties: object) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        settings(**properties)
    assert caught.value.key == key
    assert "hunter2" not in str(caught.value)
    assert "-----BEGIN" not in str(caught.value)


def connects(client: TlsSettings, authority: Authority, broker_pem: str, *, wants_certificate: bool = False) -> str:
    """Return the subject of the client's certificate after a handshake, "" where it has none."""
    server = server_context(broker_pem, client_ca_pem=authority.pem if wants_certificate else None)
    ours, theirs = TlsChannel(client.context(), "localhost"), TlsChannel(server, server_side=True)
    shake(ours, theirs)
    return theirs.peer_chain()[0].subject if theirs.peer_chain() else ""


def test_defaults_verify_host_and_chain() -> None:
    context = settings().context()
    assert context.check_hostname
    assert not context.hostname_checks_common_name
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


def test_an_empty_algorithm_takes_any_host_but_not_any_chain() -> None:
    context = settings(ssl_endpoint_identification_algorithm="").context()
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    refused(
        "ssl.endpoint.identification.algorithm",
        "'LDAPS': use https or an empty value",
        ssl_endpoint_identification_algorithm="LDAPS",
    )


def test_files(authority: Authority, broker_pem: str, tmp_path: Path) -> None:
    trust, key = tmp_path / "trust.pem", tmp_path / "key.pem"
    trust.write_text("Some words about it, ä\n" + authority.pem)
    key.write_text(authority.issue("files", names=""))
    made = settings(ssl_truststore_location=str(trust), ssl_keystore_location=str(key), ssl_keystore_type="PEM")
    assert connects(made, authority, broker_pem, wants_certificate=True) == "CN=files"
    assert "BEGIN" not in repr(made)


def test_values(authority: Authority, broker_pem: str) -> None:
    key, chain = split(authority.issue("values", names="", password="hunter2"))
    made = settings(
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=authority.pem,
        ssl_keystore_key=key,
        ssl_keystore_certificate_chain=chain,
        ssl_key_password="hunter2",
    )
    assert connects(made, authority, broker_pem, wants_certificate=True) == "CN=values"
    assert "hunter2" not in repr(made)


def test_a_key_that_cannot_be_used(authority: Authority) -> None:
    key, chain = split(authority.issue("locked", names="", password="hunter2"))
    other, _ = split(authority.issue("other-key", names=""))
    where: dict[str, object] = {"ssl_keystore_certificate_chain": chain}
    refused("ssl.key.password", "ssl.key.password is not set", ssl_keystore_key=key, **where)
    refused("ssl.key.password", "ssl.key.password is wrong", ssl_keystore_key=key, ssl_key_password="wrong", **where)
    refused("ssl.keystore.location", "the private key does not match the certificate", ssl_keystore_key=other, **where)
    refused("ssl.keystore.location", "cannot be used", ssl_keystore_key="hunter2", **where)
    refused("ssl.keystore.key", "ssl.keystore.key is missing: set the key and the certificate chain together", **where)
    refused("ssl.keystore.certificate.chain", "set the key and the certificate chain together", ssl_keystore_key=key)


def test_a_trust_store_that_cannot_be_used(tmp_path: Path) -> None:
    refused("ssl.truststore.location", "cannot be read: No such file", ssl_truststore_location=str(tmp_path / "none"))
    refused("ssl.truststore.location", "cannot be read: Is a directory", ssl_truststore_location=str(tmp_path))
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"garbage")
    refused("ssl.truststore.location", "neither a PEM file nor a Java keystore", ssl_truststore_location=str(garbage))
    garbage.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    refused("ssl.truststore.location", "no usable certificate", ssl_truststore_location=str(garbage))
    refused(
        "ssl.truststore.type",
        "is PEM: set ssl.truststore.type=PEM",
        ssl_truststore_location=str(garbage),
        ssl_truststore_type="JKS",
    )
    refused("ssl.truststore.location", "no usable certificate", ssl_truststore_certificates="nothing")
    refused(
        "ssl.truststore.location",
        "cannot be combined",
        ssl_truststore_location=str(garbage),
        ssl_truststore_certificates="x",
    )


@pytest.mark.parametrize(
    ("enabled", "expected"),
    [
        ("TLSv1.3", ("TLSv1.3", "TLSv1.3")),
        ("TLSv1.2", ("TLSv1.2", "TLSv1.2")),
        ("TLSv1.3,TLSv1.2,TLSv1.1", ("TLSv1.1", "TLSv1.3")),
    ],
)
def test_versions(enabled: str, expected: tuple[str, str]) -> None:
    made = settings(ssl_enabled_protocols=enabled)
    assert (made.oldest, made.newest) == expected
    made.context()


@pytest.mark.parametrize(
    ("enabled", "oldest"), [("TLSv1.2,TLSv1.1", ssl.TLSVersion.TLSv1_1), ("TLSv1.2", ssl.TLSVersion.TLSv1_2)]
)
def test_no_version_older_than_the_oldest_enabled_one_is_offered(enabled: str, oldest: ssl.TLSVersion) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        context = settings(ssl_enabled_protocols=enabled).context()
    assert context.minimum_version == oldest


def test_versions_that_cannot_be_had() -> None:
    refused("ssl.enabled.protocols", "must not skip a version", ssl_enabled_protocols="TLSv1.1,TLSv1.3")
    refused("ssl.enabled.protocols", "too old", ssl_enabled_protocols="TLSv1.1")
    refused("ssl.enabled.protocols", "at least one", ssl_enabled_protocols="")


@pytest.mark.parametrize(
    ("suites", "ciphers", "versions"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", ("TLSv1.2", "TLSv1.2")),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384", ("TLSv1.2", "TLSv1.2")),
        (
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            "ECDHE-RSA-CHACHA20-POLY1305",
            ("TLSv1.2", "TLSv1.2"),
        ),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", ("TLSv1.2", "TLSv1.2")),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", ("TLSv1.2", "TLSv1.2")),
        ("TLS_AES_256_GCM_SHA384", "", ("TLSv1.3", "TLSv1.3")),
        (
            "TLS_AES_256_GCM_SHA384,TLS_DHE_RSA_WITH_AES_128_GCM_SHA256",
            "DHE-RSA-AES128-GCM-SHA256",
            ("TLSv1.2", "TLSv1.3"),
        ),
    ],
)
def test_cipher_suites_by_javas_names(suites: str, ciphers: str, versions: tuple[str, str]) -> None:
    made = settings(ssl_cipher_suites=suites)
    assert (made.ciphers, (made.oldest, made.newest)) == (ciphers, versions)
    if ciphers:
        assert ciphers in [cipher["name"] for cipher in made.context().get_ciphers()]


@pytest.mark.parametrize("suite", ["TLS_NULL_WITH_NULL_NULL", "ALL:!aNULL", "NONSENSE", "ALL", "AES256-SHA,NONSENSE"])
def test_unknown_cipher_suites(suite: str) -> None:
    refused("ssl.cipher.suites", "does not (support|know)", ssl_cipher_suites=suite)


def test_suites_and_versions_that_do_not_meet() -> None:
    refused(
        "ssl.cipher.suites",
        "no suite supports a version",
        ssl_cipher_suites="TLS_AES_256_GCM_SHA384",
        ssl_enabled_protocols="TLSv1.2",
    )


# --- Java's stores ----------------------------------------------------------------------------------------------------


def conversion(**properties: object) -> str:
    """Return the command that the error tells the user to run."""
    with pytest.raises(ConfigError, match="which kctl cannot read: set ") as caught:
        settings(**properties)
    return str(caught.value).partition(" after you convert it with: ")[2]


def test_the_conversion_of_a_der_certificate_works(authority: Authority, broker_pem: str, tmp_path: Path) -> None:
    pem, der = tmp_path / "authority.pem", tmp_path / "the ca.der"
    pem.write_text(authority.pem)
    openssl("x509", "-in", str(pem), "-outform", "DER", "-out", str(der))
    with pytest.raises(ConfigError, match="is a DER certificate: set ") as caught:
        settings(ssl_truststore_location=str(der))
    subprocess.run(shlex.split(str(caught.value).partition("convert it with: ")[2]), check=True, capture_output=True)
    made = settings(ssl_truststore_location=f"{der}.pem", ssl_truststore_type="PEM")
    assert connects(made, authority, broker_pem) == ""


def test_the_conversion_of_a_pkcs12_key_store_works(
    authority: Authority, broker_pem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kctl.client.security.tls.stores.can_read_pkcs12", lambda: False)
    pem, store = tmp_path / "alice.pem", tmp_path / "it's alice.p12"
    pem.write_text(authority.issue("pkcs12", names=""))
    openssl("pkcs12", "-export", "-in", str(pem), "-out", str(store), "-passout", "pass:hunter2")
    command = conversion(ssl_keystore_location=str(store), ssl_keystore_password="hunter2")
    # The user is asked for the passwords; the test gives them.
    given = [*shlex.split(command), "-passin", "pass:hunter2", "-passout", "pass:hunter2"]
    subprocess.run(given, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    made = settings(
        ssl_truststore_certificates=authority.pem,
        ssl_keystore_location=f"{store}.pem",
        ssl_keystore_type="PEM",
        ssl_key_password="hunter2",
    )
    assert connects(made, authority, broker_pem, wants_certificate=True) == "CN=pkcs12"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_the_conversion_of_a_trust_store_works(
    authority: Authority, broker_pem: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kctl.client.security.tls.stores.can_read_pkcs12", lambda: False)
    have(lambda: find_tool("keytool", "openjdk-17-jdk-headless"))
    ca, store = tmp_path / "ca.pem", tmp_path / "trust store.jks"
    ca.write_text(authority.pem)
    made_by = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(ca), "-storepass", "hunter2"]
    run = {"check": True, "capture_output": True, "stdin": subprocess.DEVNULL}
    subprocess.run([*made_by, "-keystore", str(store), "-storetype", kind], **run)  # type: ignore[call-overload]  # one set of keywords for both calls
    command = conversion(ssl_truststore_location=str(store), ssl_truststore_type=kind)
    subprocess.run(command.replace("keytool ", "keytool -storepass hunter2 ", 1), shell=True, **run)  # type: ignore[call-overload]  # as above
    made = settings(ssl_truststore_location=f"{store}.pem", ssl_truststore_type="PEM")
    assert connects(made, authority, broker_pem) == ""


def test_a_jks_key_store_takes_two_steps(tmp_path: Path) -> None:
    store = tmp_path / "key.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    assert conversion(ssl_keystore_location=str(store)) == (
        f"keytool -importkeystore -srckeystore {store} -destkeystore {store}.p12 -deststoretype PKCS12"
        f" && openssl pkcs12 -in {store}.p12 -out {store}.pem"
    )


def test_client_certificate_is_used_where_the_system_has_no_memory_files(
    authority: Authority, broker_pem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    key, chain = split(authority.issue("elsewhere", names=""))
    made = settings(
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=authority.pem,
        ssl_keystore_key=key,
        ssl_keystore_certificate_chain=chain,
    )
    assert connects(made, authority, broker_pem, wants_certificate=True) == "CN=elsewhere"
    assert list(tmp_path.iterdir()) == [], "no key is left on the disk"
