"""Selector: non-blocking sockets and one wait for all of them; the only file of the client with sockets.

connection.py interprets the bytes, network_client.py decides about closing. Most reads use one buffer, which the next
poll overwrites, because freeing large buffers costs more than decoding.
"""

import contextlib
import errno
import os
import select
import selectors
import socket
import sys
from collections import deque
from itertools import islice

from kctl.client.clock import SystemClock
from kctl.client.lifetime import follow_forks
from kctl.client.runtime import Address, Connected, Disconnected, IoEvent, Received, SocketOptions

_SCRATCH_BYTES = 1024 * 1024
_READ_BYTES = 256 * 1024
"""Maximum read of one channel per poll if several are ready, so that a fast node does not starve others."""
_WHOLE_READ_BYTES = 16 * 1024 * 1024
"""Maximum part of a large response to wait for and read in one piece, into its own memory."""
_WORTH_WAITING_BYTES = 64 * 1024
_HAS_LOW_WATER = sys.platform.startswith("linux")
"""Whether epoll obeys SO_RCVLOWAT. It still reports an end, a reset, and a full buffer."""
_PIECES_AT_ONCE = 64 if hasattr(socket.socket, "sendmsg") else 1
"""Number of pieces per call of sendmsg(). POSIX promises 16, but all systems with sendmsg() accept 1024."""
_WAKE_UPS = 4096
_LONGEST_WAIT_S = 3600
"""Maximum single wait, because the system refuses very long ones."""
_READ = selectors.EVENT_READ
_WRITE = selectors.EVENT_WRITE
_IN_PROGRESS = (errno.EINPROGRESS, errno.EWOULDBLOCK)
_SURELY_NOT_LATE = 0.995
"""Part of a wait for which the system never waits too long."""
_SELECT_FDS = 1024
"""First descriptor that select() refuses."""


class _Channel:
    __slots__ = (
        "connected",
        "ended",
        "expected_bytes",
        "is_writing",
        "low_water",
        "number",
        "place",
        "reset",
        "sock",
        "unsent",
        "unsent_bytes",
        "write_failed"
    )  # fmt: skip

    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number = number
        self.sock = sock
        self.connected = False
        self.ended = False
        """Whether the socket is closed. The entry counts unsent bytes until the owner closes the channel."""
        self.is_writing = False
        """Whether the selector waits until more of `unsent` can be written."""
        self.expected_bytes = 0
        """Number of bytes to read next, separately from others; 0 for any number."""
        self.place: memoryview | None = None
        """Memory for the expected bytes, until they are read."""
        self.low_water = 1
        self.unsent: deque[memoryview] = deque()
        self.unsent_bytes = 0
        """Number of bytes that the system has not accepted, including bytes lost by a failed write."""
        self.write_failed = False
        self.reset: OSError | None = None
        """A reset during a write; the read that ends the channel would report only a normal end."""


class Selector:
    """`Selectable` with the system's sockets.

    Attributes: fd: descriptor of epoll or kqueue, which is readable if a socket is ready.
    """

    def __init__(self, options: SocketOptions, clock: SystemClock | None = None) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._selector = selectors.DefaultSelector()
        fileno = getattr(self._selector, "fileno", None)  # epoll and kqueue are descriptors themselves
        self.fd: int = _SELECT_FDS if fileno is None else fileno()
        self._channels: dict[int, _Channel] = {}
        self._ended: list[IoEvent] = []
        """Channel ends that were detected outside a poll; the next poll reports them immediately."""
        self._last_read = -1
        """Channel that was read last. If a poll cannot read all ready channels, the next poll begins after it."""
        self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self.was_woken = False
        self._wake_reader, self._wake_writer = socket.socketpair()
        for end in (self._wake_reader, self._wake_writer):
            end.setblocking(False)
        self._selector.register(self._wake_reader, _READ, None)
        follow_forks(self)

    def connect(self, channel: int, address: Address) -> None:
        try:
            sock = socket.socket(socket.AF_INET6 if address.is_ipv6 else socket.AF_INET, socket.SOCK_STREAM)
        except OSError as error:
            self._ended.append(Disconnected(channel, error))
            return
        self._channels[channel] = entry = _Channel(channel, sock)
        try:
            self._set_options(sock)
            code = sock.connect_ex((address.ip, address.port))
        except OSError as error:  # an IPv6 zone that this machine lacks
            self._end(entry, error)
            return
        except (OverflowError, TypeError, ValueError) as error:  # an invalid port, or a NUL
            self._end(entry, OSError(errno.EINVAL, str(error)))
            return
        if code in _IN_PROGRESS or code == 0:
            self._selector.register(sock, _WRITE, entry)
        else:
            self._end(entry, OSError(code, os.strerror(code)))

    def _set_options(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._options.send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._options.send_buffer_bytes)
        if self._options.receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._options.receive_buffer_bytes)

    def send(self, channel: int, *pieces: bytes) -> None:
        entry = self._channels.get(channel)
        if entry is None:
            return
        entry.unsent_bytes += sum(map(len, pieces))
        if entry.ended or entry.write_failed:
            return
        is_first = not entry.unsent
        entry.unsent.extend(memoryview(piece) for piece in pieces if piece)
        if entry.connected and is_first and entry.unsent:
            self._write(entry)

    def expect(self, channel: int, count: int, place: memoryview | None = None) -> None:
        entry = self._channels.get(channel)
        if entry is None or entry.ended:
            return
        entry.expected_bytes, entry.place = count, place
        low_water = min(count, _WHOLE_READ_BYTES) if count >= _WORTH_WAITING_BYTES else 1
        if low_water == entry.low_water or not _HAS_LOW_WATER:
            return
        entry.low_water = low_water
        with contextlib.suppress(OSError):  # the next poll reports the end of the socket
            entry.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)

    def unsent_bytes(self, channel: int) -> int:
        entry = self._channels.get(channel)
        return 0 if entry is None else entry.unsent_bytes

    def close(self, channel: int) -> None:
        entry = self._channels.pop(channel, None)
        if entry is not None and not entry.ended:
            self._drop_socket(entry)
        self._ended = [event for event in self._ended if event.channel != channel]

    def poll(self, until_ms: int) -> list[IoEvent]:
        happened = self._wait(0 if self._ended else until_ms)
        events, self._ended = self._ended, []
        self.was_woken = False
        free = 0
        share = _SCRATCH_BYTES if len(happened) == 1 else _READ_BYTES
        if len(happened) > _SCRATCH_BYTES // _READ_BYTES:
            happened.sort(key=self._turn)
        for key, mask in happened:
            entry: _Channel | None = key.data
            if entry is None:
                self.was_woken = True
                self._drain_wakeups()
                continue
            if self._channels.get(entry.number) is not entry or entry.ended:
                continue
            if mask & _WRITE:
                self._on_writable(entry, events)
            if not mask & _READ or entry.ended:
                continue
            if entry.expected_bytes:
                self._read_expected(entry, events)
            elif free + share <= _SCRATCH_BYTES:
                free += self._read(entry, slice(free, free + share), events)
        if self._ended:
            events += self._ended
            self._ended = []
        return events

    def _turn(self, ready: tuple[selectors.SelectorKey, int]) -> tuple[bool, int]:
        entry: _Channel | None = ready[0].data
        return (False, -1) if entry is None else (entry.number <= self._last_read, entry.number)

    def _wait(self, until_ms: int) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for I/O until `until_ms`.

        Linux may end a wait of epoll or select late by a thousandth (with low priority, by a two-hundredth), and epoll
        accepts only whole milliseconds. The wait therefore has parts: nearly the whole wait, nearly the rest, and the
        last millisecond with select() on the epoll descriptor.
        """
        rest_s = self._clock.seconds_until(until_ms)
        while (piece_ms := int(min(rest_s, _LONGEST_WAIT_S) * 1000 * _SURELY_NOT_LATE)) > 0:
            # The standard library rounds up, and 70 / 1000 * 1000 is slightly more than 70.
            happened = self._selector.select((piece_ms - 0.5) / 1000)
            if happened:
                return happened
            rest_s = self._clock.seconds_until(until_ms)
        if self.fd >= _SELECT_FDS:
            return self._selector.select(rest_s)
        if rest_s > 0:
            select.select([self.fd], [], [], rest_s)
        return self._selector.select(0)

    def wakeup(self) -> None:
        # A full pipe has a pending wake-up; with a closed one, no thread waits.
        with contextlib.suppress(BlockingIOError, OSError):
            self._wake_writer.send(b"\0")

    def shutdown(self) -> None:
        for channel in list(self._channels):
            self.close(channel)
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()

    def _after_fork(self) -> None:
        """Close the child's copies of the descriptors without unregistering: parent and child share the epoll."""
        for entry in list(self._channels.values()):
            entry.sock.close()
        self._channels.clear()
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()

    def _drain_wakeups(self) -> None:
        """Read pending wake-ups in one call, because each call lets a busy thread run first.

        The next poll reads more.
        """
        with contextlib.suppress(BlockingIOError):
            self._wake_reader.recv(_WAKE_UPS)

    def _on_writable(self, entry: _Channel, events: list[IoEvent]) -> None:
        if not entry.connected:
            code = entry.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._end(entry, OSError(code, os.strerror(code)))
                return
            entry.connected = True
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                entry.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self._options.user_timeout_ms)
            self._selector.modify(entry.sock, _READ, entry)
            events.append(Connected(entry.number, _local_name(entry.sock)))
        if entry.unsent:
            self._write(entry)

    def _write(self, entry: _Channel) -> None:
        try:
            while entry.unsent:
                at_once = list(islice(entry.unsent, _PIECES_AT_ONCE))
                sent = entry.sock.sendmsg(at_once) if len(at_once) > 1 else entry.sock.send(at_once[0])
                entry.unsent_bytes -= sent
                for piece in at_once:
                    if sent < len(piece):
                        break
                    sent -= len(piece)
                    entry.unsent.popleft()
                else:
                    continue
                entry.unsent[0] = entry.unsent[0][sent:]
                break
        except BlockingIOError:
            pass
        except OSError as error:
            # The peer's last bytes may still be readable, and say more than the failed write.
            entry.unsent.clear()
            entry.write_failed = True
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                self._end(entry, error)
                return
            entry.reset = error if error.errno == errno.ECONNRESET else None
        is_writing = bool(entry.unsent)
        if is_writing != entry.is_writing:
            entry.is_writing = is_writing
            self._selector.modify(entry.sock, _READ | _WRITE if is_writing else _READ, entry)

    def _read(self, entry: _Channel, place: slice, events: list[IoEvent]) -> int:
        self._last_read = entry.number
        try:
            count = entry.sock.recv_into(self._scratch[place])
        except BlockingIOError:
            return 0
        except OSError as error:
            self._end(entry, error)
            return 0
        if count == 0:
            self._end(entry, entry.reset)
        else:
            events.append(Received(entry.number, self._scratch[place][:count]))
        return count

    def _read_expected(self, entry: _Channel, events: list[IoEvent]) -> None:
        """Read expected bytes to their place, or into a new object, because the owner keeps them."""
        self._last_read = entry.number
        data: bytes | memoryview
        try:
            if entry.place is None:
                data = entry.sock.recv(min(entry.expected_bytes, _WHOLE_READ_BYTES))
            else:
                data = entry.place[: entry.sock.recv_into(entry.place)]
                entry.place = None
        except BlockingIOError:
            return
        except OSError as error:
            self._end(entry, error)
            return
        if data:
            events.append(Received(entry.number, data))
        else:
            self._end(entry, entry.reset)

    def _end(self, entry: _Channel, error: OSError | None) -> None:
        entry.ended = True
        entry.unsent.clear()
        self._drop_socket(entry)
        self._ended.append(Disconnected(entry.number, error))

    def _drop_socket(self, entry: _Channel) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not registered if connect failed immediately
            self._selector.unregister(entry.sock)
        entry.sock.close()


def _local_name(sock: socket.socket) -> str:
    name = sock.getsockname()
    return f"[{name[0]}]:{name[1]}" if sock.family == socket.AF_INET6 else f"{name[0]}:{name[1]}"
