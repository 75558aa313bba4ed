"""Certificates that are rotated: the next connection uses the new file, and a file that is wrong changes nothing."""

import os
from pathlib import Path

import pytest

from kctl.client.config import ClientConfig
from kctl.client.security.tls import TlsChannel, server_context
from kctl.client.security.tls.settings import RenewedContext
from tests.unit.security.certificates import Authority
from tests.unit.security.test_tls_channel import shake


@pytest.fixture
def trust(authority: Authority, tmp_path: Path) -> Path:
    path = tmp_path / "trust.pem"
    path.write_text(authority.pem)
    return path


def context_of(trust: Path, key: Path) -> RenewedContext:
    given = {"ssl.truststore.location": str(trust), "ssl.keystore.location": str(key)}
    types = {"ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM"}
    return RenewedContext(
        ClientConfig.parse({"bootstrap.servers": "a:1", "security.protocol": "SSL", **given, **types})
    )


def subject(renewed: RenewedContext, authority: Authority, broker_pem: str) -> str:
    server = server_context(broker_pem, client_ca_pem=authority.pem)
    ours, theirs = TlsChannel(renewed.context, "localhost"), TlsChannel(server, server_side=True)
    shake(ours, theirs)
    return theirs.peer_chain()[0].subject


def test_rotated_certificate_is_used_after_a_refresh(
    authority: Authority, broker_pem: str, trust: Path, tmp_path: Path
) -> None:
    key, fresh = tmp_path / "key.pem", tmp_path / "fresh.pem"
    key.write_text(authority.issue("old", names=""))
    renewed = context_of(trust, key)
    fresh.write_text(authority.issue("new", names=""))
    os.replace(fresh, key)
    assert subject(renewed, authority, broker_pem) == "CN=old"
    renewed.refresh()
    assert subject(renewed, authority, broker_pem) == "CN=new"


def test_unchanged_files_are_not_read_again(authority: Authority, trust: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text(authority.issue("old", names=""))
    renewed = context_of(trust, key)
    before = renewed.context
    renewed.refresh()
    assert renewed.context is before


@pytest.mark.parametrize("content", [None, "", "half of a key"])
def test_file_that_cannot_be_used_leaves_the_old_certificate(
    authority: Authority, broker_pem: str, trust: Path, tmp_path: Path, content: str | None
) -> None:
    key = tmp_path / "key.pem"
    key.write_text(authority.issue("old", names=""))
    renewed = context_of(trust, key)
    if content is None:
        key.unlink()
    else:
        key.write_text(content)
    renewed.refresh()
    assert subject(renewed, authority, broker_pem) == "CN=old"
    key.write_text(authority.issue("repaired", names=""))
    renewed.refresh()
    assert subject(renewed, authority, broker_pem) == "CN=repaired"
