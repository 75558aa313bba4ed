"""A Unix socket on which a served sandbox takes commands: a line of words in, `ok` or `error: WHY` out.

The line `status` is answered with a line of JSON, the state of the sandbox.

Only the user who runs the sandbox may connect. `tell` is the other end.
"""

import contextlib
import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from selectors import EVENT_READ
from typing import Any

from kctl.posix import unix_socket
from kctl.sandbox.socket_loop import SocketLoop

MAX_LINE_BYTES = 4_096
_BACKLOG = 16
_OK = b"ok\n"
STATUS = b"status"
_LONGEST_REPORT_BYTES = 1 << 20


class ControlSocket:
    """Takes commands until it is closed."""

    def __init__(
        self,
        loop: SocketLoop,
        path: Path,
        carry_out: Callable[[list[str]], str | None],
        report: Callable[[], str],
    ) -> None:
        """Listen, once the loop runs this.

        Args:
            loop: whose thread it works in.
            path: of the socket; the only file that may exist there is the socket of a sandbox that was killed.
            carry_out: carries out a command and returns why not, or None.
            report: returns the state as JSON.
        Raises:
            OSError: the path is in use, too long, or cannot be made.
        """
        self._loop = loop
        self._path = path
        self._carry_out = carry_out
        self._report = report
        self._open: dict[socket.socket, bytearray] = {}
        self._sock = unix_socket()
        try:
            before = os.umask(0o177)
            try:
                _bind(self._sock, path)
            finally:
                os.umask(before)
            self._sock.listen(_BACKLOG)
        except OSError:
            self._sock.close()
            raise
        self._sock.setblocking(False)
        loop.watch(self._sock, EVENT_READ, self._accept)

    def _accept(self, _: int) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:
            return
        sock.setblocking(False)
        self._open[sock] = bytearray()
        self._loop.watch(sock, EVENT_READ, lambda _: self._read(sock))

    def _read(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(MAX_LINE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        line = self._open[sock]
        line += data
        if not data or len(line) > MAX_LINE_BYTES:
            self._close(sock)
            return
        while b"\n" in line:
            words, _, rest = bytes(line).partition(b"\n")
            line[:] = rest
            self._answer(sock, words)

    def _answer(self, sock: socket.socket, words: bytes) -> None:
        with contextlib.suppress(OSError):  # it did not wait for the answer
            if words.split() == [STATUS]:
                sock.send(self._report().encode() + b"\n")
                return
            why = self._carry_out(words.decode(errors="replace").split())
            sock.send(_OK if why is None else f"error: {why}\n".encode())

    def _close(self, sock: socket.socket) -> None:
        del self._open[sock]
        self._loop.watch(sock, 0, lambda _: None)
        sock.close()

    def close(self) -> None:
        """Stop listening and take the socket's file away."""
        for sock in list(self._open):
            self._close(sock)
        self._loop.watch(self._sock, 0, self._accept)
        self._sock.close()
        self._path.unlink(missing_ok=True)


def _bind(sock: socket.socket, path: Path) -> None:
    """Bind a socket to a path; a socket there to which nothing listens is removed first."""
    try:
        sock.bind(str(path))
    except OSError as error:
        if error.errno != errno.EADDRINUSE or not _is_left_over(path):
            raise
        path.unlink(missing_ok=True)
        sock.bind(str(path))


def _is_left_over(path: Path) -> bool:
    """Return whether a path is a socket that refuses connections: its process has ended without removing it."""
    if not path.is_socket():
        return False
    with unix_socket() as sock:
        sock.settimeout(0)
        return sock.connect_ex(str(path)) == errno.ECONNREFUSED


def tell(path: Path, words: list[str], patience_s: float) -> str | None:
    """Tell a sandbox a command and return why it was not carried out, or None.

    Raises:
        OSError: no sandbox listens there, or no answer came within `patience_s`.
        ValueError: the words do not fit into a line, or are no command.
    """
    if " ".join(words).encode().split() == [STATUS]:
        raise ValueError("'status' is not a command; kctl sandbox status shows the sandbox")
    line = " ".join(words).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES or line.count(b"\n") > 1:
        raise ValueError(f"a command is one line of at most {MAX_LINE_BYTES} bytes")
    answer = _ask(path, line, patience_s)
    return None if answer == _OK else answer.decode().removeprefix("error: ").strip()


def ask_status(path: Path, patience_s: float) -> Any:
    """Return the state of a sandbox.

    Raises:
        OSError: nothing listens there, or no answer came within `patience_s`.
        ValueError: the answer is not JSON.
    """
    return json.loads(_ask(path, STATUS + b"\n", patience_s))


def _ask(path: Path, line: bytes, patience_s: float) -> bytes:
    with unix_socket() as sock:
        sock.settimeout(patience_s)
        sock.connect(str(path))
        sock.sendall(line)
        answer = b""
        while not answer.endswith(b"\n"):
            data = sock.recv(MAX_LINE_BYTES)
            if not data:
                raise ConnectionResetError("the sandbox closed the connection without a response")
            answer += data
            if len(answer) > _LONGEST_REPORT_BYTES:
                raise ConnectionResetError("the response is too long")
    return answer
