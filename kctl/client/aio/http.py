"""AwaitedHttpClient: HTTP requests whose waits are awaits of the event loop."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from kctl.client.aio.bridge import WouldWait, is_bridged
from kctl.client.aio.driver import AsyncDriver
from kctl.client.aio.waits import await_descriptor
from kctl.client.clock import Clock, Timer
from kctl.client.http import Connection, HttpClient, HttpLimits, HttpResponse
from kctl.client.runtime import Lookup, Resolver

T = TypeVar("T")


class AwaitedHttpClient(HttpClient):
    """HTTP client for code in a bridge. Outside of a bridge, `request` raises WouldWait before it sends anything."""

    def __init__(
        self,
        clock: Clock,
        resolver: Resolver,
        limits: HttpLimits,
        context: Callable[[], ssl.SSLContext],
        driver: AsyncDriver,
    ) -> None:
        super().__init__(clock, resolver, limits, context)
        self._driver = driver

    def request(self, *args: Any, **kwargs: Any) -> HttpResponse:
        if not is_bridged():
            raise WouldWait
        return super().request(*args, **kwargs)

    def _looked_up(self, host: str, port: int, timer: Timer) -> Lookup:
        waiter = self._driver.waiter()
        lookup = self._resolver.lookup(host, port, waiter.notify)
        self._driver.wait(waiter, timer.deadline_at_ms)
        return lookup

    def _open(self, family: socket.AddressFamily) -> Connection:
        return AwaitedSocket(socket.socket(family, socket.SOCK_STREAM))

    def _secured(self, connection: Connection, context: ssl.SSLContext, host: str) -> Connection:
        assert isinstance(connection, AwaitedSocket)
        connection.secure(context, host)
        return connection


class AwaitedSocket:
    """A socket whose waits are awaits of the event loop. Use it only in a bridge."""

    def __init__(self, below: socket.socket) -> None:
        below.setblocking(False)
        self._below = below
        self._seconds = 0.0

    def settimeout(self, value: float) -> None:
        self._seconds = value

    def connect(self, address: tuple[str, int], /) -> None:
        with suppress(BlockingIOError):
            self._below.connect(address)
            return
        self._await(asyncio.get_running_loop().time() + self._seconds, is_write=True)
        failed = self._below.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed:
            raise OSError(failed, os.strerror(failed))

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        self._below = secured = context.wrap_socket(self._below, server_hostname=host, do_handshake_on_connect=False)
        self._repeat(secured.do_handshake)

    def send(self, data: memoryview, /) -> int:
        return self._repeat(partial(self._below.send, data), is_write=True)

    def recv_into(self, buffer: memoryview, /) -> int:
        return self._repeat(partial(self._below.recv_into, buffer))

    def close(self) -> None:
        self._below.close()

    def _repeat(self, call: Callable[[], T], *, is_write: bool = False) -> T:
        until_s = asyncio.get_running_loop().time() + self._seconds
        while True:
            try:
                return call()
            except BlockingIOError:
                self._await(until_s, is_write=is_write)
            except ssl.SSLWantReadError:
                self._await(until_s, is_write=False)
            except ssl.SSLWantWriteError:
                self._await(until_s, is_write=True)

    def _await(self, until_s: float, *, is_write: bool) -> None:
        loop = asyncio.get_running_loop()
        while not await_descriptor(self._below.fileno(), until_s, is_write=is_write):
            if loop.time() >= until_s:
                raise TimeoutError
