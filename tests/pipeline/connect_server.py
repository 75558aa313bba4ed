"""A Spark Connect server on this machine for tests, in a process that can be killed. Knows nothing of kctl."""

import os
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.pipeline.spark_classes import SHORT_LIVED, spark_home
from tests.support.bounds import bound
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.waiting import wait_until
from tests.support.ports import HOST, PortLease, lease_ports

START_TIMEOUT_MS: Final = bound(240_000)
SERVER: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """A server whose tasks have two slots and two attempts; a context manager.

    Attributes:
        remote: URL for --remote, without a token.
        process: the server.
    """

    def __init__(self, worker_python: str, *, java: str = "", token: str = "") -> None:
        """Start nothing yet. Args: token: the key that clients must send, none if empty."""
        self._folder = make_folder("connect")
        self._lease: PortLease = lease_ports()
        port = self._lease.take()
        self.remote = f"sc://localhost:{port}"  # clients send tokens without TLS to localhost alone
        self.process = ServerProcess("Spark Connect", self._folder / "server.log")
        properties = {
            "spark.ui.enabled": "false",
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(port),
            "spark.local.dir": str(self._folder),
            "spark.sql.artifact.isolation.enabled": "true",
            **({"spark.connect.authenticate.token": token} if token else {}),
        }
        named = [word for name, value in properties.items() for word in ("--conf", f"{name}={value}")]
        environment = [
            f"SPARK_LOCAL_IP={HOST}",
            f"PYSPARK_PYTHON={worker_python}",
            f"PATH={os.environ['PATH']}",
            f"JDK_JAVA_OPTIONS={java or SHORT_LIVED}",
        ]
        submit = str(spark_home() / "bin" / "spark-submit")
        self._command = [
            *("/bin/sh", "-c", f'cd {self._folder} && exec "$@"', "sh"),  # Spark writes artifacts beside itself
            *("env", "-i", *environment, submit, "--master", "local[2,2]", "--class", SERVER, *named, "spark-internal"),
        ]

    @property
    def log_path(self) -> Path:
        return self.process.log_path

    def __enter__(self) -> "ConnectServer":
        self.process.start(self._command)
        try:
            wait_until(lambda: b"server started at" in self.log_path.read_bytes(), START_TIMEOUT_MS, "Spark Connect")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the server, and remove its files."""
        self.process.kill()
        self._lease.release()
        remove_folder(self._folder)
