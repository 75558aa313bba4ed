"""Names a peer that is not a Kafka broker by the first bytes it sent. Shown by tests/unit/network/test_peers.py."""

_TLS_ALERT = 0x15
_TLS_HANDSHAKE = 0x16
_SHOWN_BYTES = 32
_SIZE_BYTES = 4

_GREETINGS: tuple[tuple[bytes, str], ...] = (
    (b"HTTP/", "an HTTP server"),
    (b"SSH-", "an SSH server"),
    (b"AMQP", "an AMQP broker"),
    (b"-ERR", "a Redis server"),
    (b"-NOAUTH", "a Redis server"),
    (b"220", "an SMTP or FTP server"),
    (b"+OK", "a POP3 server"),
    (b"* OK", "an IMAP server"),
    (b"<", "a web or XML server"),
)


def name_peer(first_bytes: bytes) -> str:
    """Return what answered, in words with the evidence, such as `an HTTP server ("HTTP/1.1 400 Bad Request")`."""
    if len(first_bytes) >= 3 and first_bytes[0] in (_TLS_ALERT, _TLS_HANDSHAKE) and first_bytes[1] == 3:
        return f"a TLS listener (TLS record {first_bytes[:7].hex(' ')})"
    for greeting, name in _GREETINGS:
        if first_bytes.startswith(greeting):
            line = first_bytes.splitlines()[0][:64].decode("ascii", "backslashreplace")
            return f'{name} ("{_printable(line)}")'
    shown = f"first bytes {first_bytes[:_SHOWN_BYTES].hex(' ')}"
    if len(first_bytes) < _SIZE_BYTES:
        return f"not a Kafka broker ({shown})"
    size = int.from_bytes(first_bytes[:_SIZE_BYTES], signed=True)
    return f"not a Kafka broker (as a frame {size} bytes; {shown})"


def may_be_answer(first_bytes: bytes, correlation_id: int) -> bool:
    """Return whether these are the first bytes of the answer to the first request: a short frame with its id."""
    start = bytes(1), correlation_id.to_bytes(4, signed=True)
    return start[0].startswith(first_bytes[:1]) and start[1].startswith(first_bytes[_SIZE_BYTES : _SIZE_BYTES + 4])


def is_tls(first_bytes: bytes) -> bool:
    """Return whether a TLS listener answered a client that spoke no TLS."""
    return name_peer(first_bytes).startswith("a TLS listener")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
