"""HTTP server for the page of metrics, which limits all input of scrapers.

Each connection has one GET or HEAD of /metrics, at most `MOST_BYTES` of request line and headers, and `TIME_S` from
accept to close. Above `MOST_CONNECTIONS`, a new connection closes the oldest.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from threading import Event, Thread

MOST_CONNECTIONS = 16
MOST_BYTES = 8192
TIME_S = 5
_CRLF = b"\r\n"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
}


class MetricsServer:
    """Server of a page, on a separate thread until closed.

    Args: page: return the page. Called for each scrape, on the thread of the server.
    Raises: OSError: the server cannot listen on the address.
    """

    def __init__(self, host: str, port: int, page: Callable[[], str]) -> None:
        self._page = page
        self._open: dict[asyncio.StreamWriter, None] = {}
        """Connections, the oldest first."""
        self._loop = asyncio.new_event_loop()
        self._started = Event()
        self._error: OSError | None = None
        self.port = 0
        self._host = host
        self._thread = Thread(target=self._run, args=(host, port), name="kctl-metrics", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self, host: str, port: int) -> None:
        try:
            self._loop.run_until_complete(self._serve(host, port))
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self, host: str, port: int) -> None:
        self._stop = asyncio.Event()
        try:
            server = await asyncio.start_server(self._answer, host, port, limit=MOST_BYTES, backlog=MOST_CONNECTIONS)
        except OSError as error:
            self._error = error
            return
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_CONNECTIONS:  # a silent client takes no place for long
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        self._open[writer] = None
        try:
            with suppress(TimeoutError, OSError, asyncio.CancelledError):  # `close` cancels
                async with asyncio.timeout(TIME_S):
                    await self._converse(reader, writer)
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        code, method = await _read(reader, self._host)
        body = self._page().encode() if code == 200 else f"{_REASONS[code]}\n".encode()
        head = [
            f"HTTP/1.1 {code} {_REASONS[code]}",
            "Content-Type: text/plain; version=0.0.4; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + (b"" if method == "HEAD" else body))
        await writer.drain()
        writer.write_eof()
        await reader.read(1)  # until the scraper closes, so that what was written is not cut off


async def _read(reader: asyncio.StreamReader, host: str) -> tuple[int, str]:
    try:
        head = await reader.readuntil(_CRLF + _CRLF)
    except asyncio.LimitOverrunError:
        return 431, "GET"
    except asyncio.IncompleteReadError:
        return 400, "GET"
    if not _is_for_address(head, host):
        return 421, "GET"
    words = head.split(_CRLF, 1)[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return 400, "GET"
    method, target = words[0].decode("latin-1"), words[1].split(b"?")[0]
    if method not in ("GET", "HEAD"):
        return 405, "GET"
    return (200 if target == b"/metrics" else 404), method


def _is_for_address(head: bytes, host: str) -> bool:
    """Return whether the Host header of a request is valid. On loopback it must be an IP address or localhost.

    Browsers that reach a loopback address by a foreign name (DNS rebinding) send that name. On other addresses, any
    name is valid.
    """
    if not _is_loopback(host):
        return True
    lines = head.decode("latin-1").split("\r\n")[1:]
    named = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
    if not named:  # HTTP/1.0
        return True
    name = named[0] if len(named) == 1 else ""
    name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
    try:
        ip_address(name)
    except ValueError:
        return name.lower() in ("localhost", host.lower())
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
