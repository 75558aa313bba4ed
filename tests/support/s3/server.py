"""S3Server: moto's S3 as a process of its own, which can be killed or frozen.

`tests/support/s3/versity.py` has one that keeps what it holds on disk.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from pyarrow.fs import S3FileSystem

from tests.support.bounds import bound
from tests.support.freezing import freeze
from tests.support.kafka.waiting import wait_until
from tests.support.ports import lease_ports

ACCESS_KEY, SECRET_KEY = "kctl-tests", "canary-of-the-secret-key"
STARTED_WITHIN_MS = bound(120_000)
RESPONDS_WITHIN_S = bound(60)
"""For a foreign reader: the default of pyarrow is 3 s, too short for moto beside other load."""


class S3Server:
    """A server with one bucket, `kafka`, in memory; a context manager. What it holds ends with it.

    Attributes:
        name: of the program, for reports.
    """

    name = "moto"

    def __init__(self) -> None:
        self._lease = lease_ports()
        self.port = self._lease.take()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        self.client().create_bucket(Bucket="kafka")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._lease.release()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        """Start it, on its port."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self.command(), stdin=quiet, stdout=quiet, stderr=quiet)
        wait_until(self._accepts, STARTED_WITHIN_MS, "the S3 server")

    def command(self) -> list[str]:
        """Return the command that serves on the port."""
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def kill(self) -> None:
        """Kill it, with what it holds in memory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop it, so that connections are accepted and nothing is answered."""
        assert self._process is not None
        freeze(self._process.pid)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def client(self, config: Any = None) -> Any:
        """Return boto3's client; `config` is botocore's."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=config,
        )

    def files(self) -> S3FileSystem:
        """Return pyarrow's own client."""
        return S3FileSystem(
            access_key=ACCESS_KEY,
            secret_key=SECRET_KEY,
            endpoint_override=self.endpoint,
            scheme="http",
            region="us-east-1",
            connect_timeout=RESPONDS_WITHIN_S,
            request_timeout=RESPONDS_WITHIN_S,
        )

    def keys(self, prefix: str) -> set[str]:
        """Return the keys below a prefix, without it."""
        pages = self._lister.get_paginator("list_objects_v2").paginate(Bucket="kafka", Prefix=f"{prefix}/")
        return {each["Key"].removeprefix(f"{prefix}/") for page in pages for each in page.get("Contents", ())}

    @cached_property
    def _lister(self) -> Any:
        """One client for all lists: to make a client takes longer than to list."""
        return self.client()

    def _accepts(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
