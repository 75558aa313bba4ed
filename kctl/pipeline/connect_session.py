"""Session of a Spark Connect server. The driver, its log and the workers' code are on the server.

kctl sends its code as artifacts of the session, which the server removes with the session.
"""

import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kctl.pipeline.connect_channel import ConnectChannel
from kctl.pipeline.connect_rounds import ConnectRound
from kctl.pipeline.connect_url import ConnectUrl
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.session import STOP_S, Session, SessionOptions
from kctl.pipeline.shipping import package_archives
from kctl.pipeline.spark_failures import explained
from kctl.pipeline.task_rounds import Round, Split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

PARTITIONS = 1 << 20
"""Maximum number of slots that kctl recognizes."""


class ConnectSession(Session):
    """A session of a Spark Connect server."""

    def __init__(self, spark: "SparkSession", log_path: Path | None = None) -> None:
        self.log_path = log_path
        self.is_local = False
        self._spark = spark
        send_code(spark)
        self._parallelism = _slots(spark)

    @property
    def parallelism(self) -> int:
        return self._parallelism

    def spark(self) -> "SparkSession":
        return self._spark

    def round(self, name: str, split: Split[Any, Result]) -> Round[Result]:
        return ConnectRound(self._spark, self._parallelism, name, split)


def send_code(spark: "SparkSession") -> None:
    """Send kctl to the workers of a session.

    Raises: Exception: the server rejects artifacts or does not respond.
    """
    with tempfile.TemporaryDirectory(prefix="kctl-code-") as folder:
        spark.addArtifacts(*package_archives(Path(folder)), archive=True)


def _slots(spark: "SparkSession") -> int:
    """Return the number of tasks in parallel, which is the number of partitions that Spark gives to a range."""
    rows = spark.range(PARTITIONS).selectExpr("spark_partition_id() as number").agg({"number": "max"}).collect()
    return 1 + int(rows[0][0])


class ConnectGateway:
    """Connection to a server, which another thread can close at any time."""

    def __init__(self, url: ConnectUrl) -> None:
        self._url = url
        self._channel: ConnectChannel | None = None

    def launch(self, options: SessionOptions, log_path: Path) -> ConnectSession:
        """Connect and return the session. Blocks for seconds, so call it in a thread that may be abandoned.

        Raises: SparkSetUpError: the server does not respond, or rejects the session.
        """
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC writes to stderr
        try:
            self._channel = ConnectChannel(self._url)
            spark = self._channel.spark
            for name, value in options.properties.items():
                spark.conf.set(name, value)
            return ConnectSession(spark, log_path)
        except Exception as e:  # noqa: BLE001 - PySpark and gRPC have no common class
            found = explained(e, log_path)
            text = self._url.concealed(str(found))
            raise SparkSetUpError(f"no session at {self._url.address}: {text}", found.hint) from None

    def close(self) -> None:
        """Release the session within `STOP_S`. The server cancels its queries."""
        channel = self._channel
        if channel is not None:
            stopping = threading.Thread(target=_stop, args=(channel.spark,), daemon=True)
            stopping.start()
            stopping.join(STOP_S)
            channel.close()


def _stop(spark: "SparkSession") -> None:
    with suppress(Exception):  # the server may have exited; it forgets the session later
        spark.stop()
