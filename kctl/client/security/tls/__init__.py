"""TLS on bytes, without sockets.

    settings = TlsSettings.from_config(config)          # reads and checks the files; ConfigError has the property
    channel = TlsChannel(settings.context(), "broker1.example")
    channel.handshake(); send(channel.pending_out()); channel.receive(data); ...

`ssl` is imported with the first context.
"""

from kctl.client.security.tls.certificates import PeerCertificate
from kctl.client.security.tls.channel import TlsChannel
from kctl.client.security.tls.settings import TlsSettings, server_context

__all__ = ["PeerCertificate", "TlsChannel", "TlsSettings", "server_context"]
