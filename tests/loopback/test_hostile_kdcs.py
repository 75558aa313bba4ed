"""KDCs of a stranger: errors with forged lines, and bytes that are no response, are an error of one line."""

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kctl.client.errors import AuthenticationError, ConnectionLost
from kctl.client.kerberos import KerberosLogin, fetch_ticket

pytest.importorskip("gssapi")

REALM = b"KCTL.TEST"
TOO_BIG, GENERIC, PREAUTHENTICATION, WRONG_REALM = 52, 60, 25, 68
FORGED = b"\x1b]0;T\x07\nhint: curl evil.example\r\n"


def der(tag: int, body: bytes) -> bytes:
    size = len(body).to_bytes(4, "big").lstrip(b"\0") or b"\0"
    return bytes([tag]) + (size if len(body) < 0x80 else bytes([0x80 + len(size)]) + size) + body


def integer(number: int) -> bytes:
    return der(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def krb_error(code: int, text: bytes, realm: bytes = REALM) -> bytes:
    """Return a KRB-ERROR. Source: RFC 4120, section 5.9.1."""
    names = der(0x30, der(0x1B, b"krbtgt") + der(0x1B, realm))
    server = der(0x30, der(0xA0, integer(2)) + der(0xA1, names))
    fields = {0: integer(5), 1: integer(30), 4: der(0x18, b"20261130140000Z"), 5: integer(0), 6: integer(code)}
    fields |= {9: der(0x1B, realm), 10: server, 11: der(0x1B, text)}
    return der(0x7E, der(0x30, b"".join(der(0xA0 + number, value) for number, value in fields.items())))


class StrangeKdc:
    """A KDC that sends one response to everything."""

    def __init__(self, response: bytes, size: int | None = None) -> None:
        self.requests = 0
        self._response = response
        self._size = len(response) if size is None else size
        self._tcp, self._udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self._tcp.bind(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self._udp.bind(("127.0.0.1", self.port))
        self._tcp.listen(10)
        for serve in (self._serve_tcp, self._serve_udp):
            threading.Thread(target=serve, daemon=True).start()

    def close(self) -> None:
        for each in (self._tcp, self._udp):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve_udp(self) -> None:
        with suppress(OSError):
            while True:
                _, address = self._udp.recvfrom(65536)
                if address is None:  # shut down
                    return
                self._udp.sendto(krb_error(TOO_BIG, b""), address)

    def _serve_tcp(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._tcp.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    self.requests += 1
                    connection.sendall(struct.pack(">I", self._size) + self._response)


@pytest.fixture
def login(tmp_path: Path) -> KerberosLogin:
    """A login with a keytab."""

    def counted(data: bytes) -> bytes:
        return struct.pack(">H", len(data)) + data

    entry = struct.pack(">H", 1) + counted(REALM) + counted(b"alice") + struct.pack(">II", 1, 1) + b"\1"
    entry += struct.pack(">H", 18) + counted(bytes(range(32)))
    (tmp_path / "keytab").write_bytes(b"\x05\x02" + struct.pack(">i", len(entry)) + entry)
    return KerberosLogin("kafka", "alice@KCTL.TEST", str(tmp_path / "keytab"))


RESPONSES = {
    "an error with lines": krb_error(GENERIC, FORGED + b"x" * 100_000),
    "an error that asks for nonsense": krb_error(PREAUTHENTICATION, b""),
    "another realm": krb_error(WRONG_REALM, b"", FORGED),
    "random bytes": random.Random(1).randbytes(500_000),
    "nothing": b"",
}


@pytest.fixture(params=[*RESPONSES, "a size that is a lie"])
def kdc(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StrangeKdc]:
    made = StrangeKdc(RESPONSES.get(request.param, b"x"), None if request.param in RESPONSES else 2**31 - 1)
    (tmp_path / "krb5.conf").write_text(
        "[libdefaults]\n default_realm = KCTL.TEST\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
        f" rdns = false\n[realms]\n KCTL.TEST = {{\n kdc = 127.0.0.1:{made.port}\n }}\n"
    )
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/cache")
    yield made
    made.close()


def test_response_of_a_strange_kdc_is_an_error_of_one_short_line(kdc: StrangeKdc, login: KerberosLogin) -> None:
    with pytest.raises((AuthenticationError, ConnectionLost)) as raised:
        fetch_ticket(login, "127.0.0.1", f"strange-{kdc.port}")
    assert kdc.requests
    for text in (str(raised.value), raised.value.hint):
        assert text.isprintable()
        assert len(text) < 500
