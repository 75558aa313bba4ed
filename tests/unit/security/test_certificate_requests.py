"""Whether the peer asked for a client certificate is seen in every version of TLS, and only where it is watched."""

import pytest

from kctl.client.errors import ClientCertificateRefused
from kctl.client.security.tls import TlsChannel, TlsSettings, server_context
from kctl.client.security.tls.channel import watch_certificate_requests
from tests.unit.security.certificates import Authority
from tests.unit.security.test_tls_channel import shake


@pytest.mark.parametrize("newest", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("is_wanted", [False, True])
def test_a_request_is_noticed(authority: Authority, broker_pem: str, newest: str, is_wanted: bool) -> None:
    context = TlsSettings(authority.pem, key_pem=authority.issue("me"), newest=newest).context()
    watch_certificate_requests(context)
    client = TlsChannel(context, "localhost")
    server = TlsChannel(
        server_context(broker_pem, client_ca_pem=authority.pem if is_wanted else None), server_side=True
    )
    assert client.is_certificate_asked is False
    shake(client, server)
    assert client.is_certificate_asked is is_wanted


def test_a_request_is_noticed_where_we_have_no_certificate(authority: Authority, broker_pem: str) -> None:
    context = TlsSettings(authority.pem).context()
    watch_certificate_requests(context)
    client = TlsChannel(context, "localhost")
    server = TlsChannel(server_context(broker_pem, client_ca_pem=authority.pem), server_side=True)
    with pytest.raises(ClientCertificateRefused):
        shake(client, server)
    assert client.is_certificate_asked is True


def test_nobody_knows_where_nobody_watches(authority: Authority, broker_pem: str) -> None:
    client = TlsChannel(TlsSettings(authority.pem).context(), "localhost")
    shake(client, TlsChannel(server_context(broker_pem, client_ca_pem=None), server_side=True))
    assert client.is_certificate_asked is None
