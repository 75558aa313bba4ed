"""What a client's config says about its sockets. Shown by tests/loopback/network/test_selector.py."""

from kctl.client.config import ClientConfig
from kctl.client.seams import SocketOptions


def socket_options(config: ClientConfig) -> SocketOptions:
    """Return the socket options; buffers stay the system's own (which grow by themselves) unless set by hand."""
    kind = type(config)
    return SocketOptions(
        user_timeout_ms=config.request_timeout_ms,
        send_buffer_bytes=config.send_buffer_bytes if config.is_given(kind.send_buffer_bytes) else -1,
        receive_buffer_bytes=config.receive_buffer_bytes if config.is_given(kind.receive_buffer_bytes) else -1,
    )
