"""Unix socket that receives commands of a running sandbox, from its own user only.

Responses are `ok`, `error: REASON`, or, for `status`, one line of JSON.
"""

import contextlib
import errno
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from selectors import EVENT_READ
from tempfile import TemporaryDirectory
from typing import Any

from kctl.client.clock import SystemClock, Timer
from kctl.posix import is_owned, unix_socket
from kctl.sandbox.socket_loop import SocketLoop

MAX_LINE_BYTES = 4_096
_BACKLOG = 16
_OK = b"ok\n"
STATUS = b"status"
_LONGEST_REPORT_BYTES = 1 << 20


class ControlSocket:
    def __init__(
        self,
        loop: SocketLoop,
        path: Path,
        carry_out: Callable[[list[str]], str | None],
        report: Callable[[], str],
    ) -> None:
        """Start to listen, in the thread of the loop.

        Args:
            path: path of the socket. Only a stale socket of this user may exist there.
            carry_out: executes a command, and returns an error text or None.
            report: returns the state as JSON.

        Raises: OSError: the path is in use, is too long, or cannot be created.
        """
        self._loop = loop
        self._path = path
        self._carry_out = carry_out
        self._report = report
        self._open: dict[socket.socket, bytearray] = {}
        self._sock, self._file = _listen(path)
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
        with contextlib.suppress(OSError):  # the client did not wait for the response
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
        """Stop listening and remove the socket file, unless it was replaced."""
        for sock in list(self._open):
            self._close(sock)
        self._loop.watch(self._sock, 0, self._accept)
        self._sock.close()
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self._path.lstat(), self._file):
                self._path.unlink()


def _listen(path: Path) -> tuple[socket.socket, os.stat_result]:
    """Return a listening socket and the status of its file.

    The file gets its name after the socket listens, so a socket that refuses connections is stale.
    """
    sock = unix_socket()
    try:
        with TemporaryDirectory(prefix=".kctl-", dir=path.parent) as folder:  # mode 0700
            draft = Path(folder, "s")
            sock.bind(str(draft))
            draft.chmod(0o600)
            sock.listen(_BACKLOG)
            remove_left_over(path)
            os.link(draft, path, follow_symlinks=False)
            return sock, draft.lstat()
    except FileExistsError:
        sock.close()
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)) from None
    except OSError:
        sock.close()
        raise


def remove_left_over(path: Path) -> None:
    """Remove a stale socket of this user, and no other file."""
    if not _is_left_over(path):
        return
    with TemporaryDirectory(prefix=".kctl-", dir=path.parent) as folder, contextlib.suppress(FileNotFoundError):
        aside = Path(folder, "s")
        path.rename(aside)
        if not _is_left_over(aside):  # another process replaced the socket in the meantime
            os.link(aside, path, follow_symlinks=False)


def _is_left_over(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(found.st_mode) or not is_owned(found, others=0):
        return False
    with unix_socket() as sock:
        sock.settimeout(0)
        return sock.connect_ex(str(path)) == errno.ECONNREFUSED


def tell(path: Path, words: list[str], patience_s: float) -> str | None:
    """Send a command to a sandbox. Return an error text, or None on success.

    Raises:
        OSError: no sandbox listens at the path, or it did not respond within `patience_s`.
        ValueError: the words do not fit into a line, or are `status`.
    """
    if " ".join(words).encode().split() == [STATUS]:
        raise ValueError("unknown command 'status': use kctl sandbox status")
    line = " ".join(words).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES or line.count(b"\n") > 1:
        raise ValueError(f"commands must be one line of at most {MAX_LINE_BYTES} bytes")
    answer = _ask(path, line, patience_s)
    return None if answer == _OK else answer.decode(errors="replace").removeprefix("error: ").strip()


def ask_status(path: Path, patience_s: float) -> Any:
    """Return the state of a sandbox.

    Raises: OSError: as `tell`. ValueError: the response is not JSON.
    """
    try:
        return json.loads(_ask(path, STATUS + b"\n", patience_s))
    except RecursionError:
        raise ValueError("the response is nested too deeply") from None


def _ask(path: Path, line: bytes, patience_s: float) -> bytes:
    with unix_socket() as sock:
        sock.settimeout(patience_s)
        sock.connect(str(path))
        sock.sendall(line)
        answer = b""
        timer = Timer(SystemClock(), int(patience_s * 1000))
        while not answer.endswith(b"\n"):
            sock.settimeout(max(timer.remaining_ms, 1) / 1000)
            data = sock.recv(MAX_LINE_BYTES)
            timer.update()
            if not data:
                raise ConnectionResetError("the sandbox closed the connection without a response")
            answer += data
            if len(answer) > _LONGEST_REPORT_BYTES:
                raise ConnectionResetError("the response is too long")
    return answer
