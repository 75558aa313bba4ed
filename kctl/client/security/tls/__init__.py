"""TLS as bytes in, bytes out.

    settings = TlsSettings.from_config(config)          # reads and checks the files; ConfigError names the property
    channel = TlsChannel(settings.context(), "broker1.example")
    channel.handshake(); send(channel.pending_out()); channel.receive(data); ...

settings.py makes contexts from properties, stores.py reads what they point at, channel.py runs one connection,
failures.py turns OpenSSL's errors into ours. `ssl` is imported when the first context is made, never before.
"""

from kctl.client.security.tls.certificates import PeerCertificate
from kctl.client.security.tls.channel import TlsChannel
from kctl.client.security.tls.settings import TlsSettings, server_context

__all__ = ["PeerCertificate", "TlsChannel", "TlsSettings", "server_context"]
