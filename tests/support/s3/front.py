"""StoreFront: the process in front of an S3 server that clients connect to, which can be killed while the data stays.

moto keeps what it holds in memory, so a kill of moto itself would lose it. Seen from a client, a kill of the front is
that of a server with a disk: connections are reset in the middle, a request may have had its effect without a response,
and connections are refused until it runs again.
"""

import asyncio
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.cli.processes import ROOT
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until
from tests.support.ports import lease_ports

STARTED_WITHIN_MS = bound(60_000)


class StoreFront:
    """Forwards connections to a port of this machine; a context manager.

    Attributes:
        module: what runs as the process, with its own port and the other one as arguments.
    """

    module = __name__

    def __init__(self, target_port: int) -> None:
        self._lease = lease_ports()
        self.port = self._lease.take()
        self._target_port = target_port
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._lease.release()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on its port."""
        command = [sys.executable, "-m", self.module, str(self.port), str(self._target_port)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT)
        wait_until(self._accepts, STARTED_WITHIN_MS, "the front of the S3 server")

    def kill(self) -> None:
        """Kill it: every connection is reset, and further ones are refused."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _accepts(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


async def _serve(port: int, target_port: int) -> None:
    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", target_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    server = await asyncio.start_server(forward, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
