"""Connection of a Spark Connect client to its server, whose requests end soon after the server.

PySpark retries each request for ten minutes. A server that restarts forgets its sessions, so retries only help against
short interruptions of the network. PySpark also sends requests without a caller: it releases results in a thread pool
that Python joins at exit, and cleans caches at exit. So the first request without a retry left ends the retries of all
others.

A query waits without a timeout. A server whose machine hangs does not close connections, so health checks find it.
"""

import threading
from typing import TYPE_CHECKING, Any

from kctl.client.clock import Clock, SystemClock, Timer
from kctl.pipeline.connect_url import ConnectUrl

if TYPE_CHECKING:
    from pyspark.sql.connect.client.retries import RetryPolicy

RETRY_MS = 10_000
"""Time in ms for retries of a request, from its first failure."""
BACKOFF_MS = 1000
"""Maximum backoff in ms."""
CHECK_EVERY_S = 10.0
CHECK_S = 60.0
"""Timeout of a health check in s. It exceeds long pauses of a server's garbage collector."""
HEALTH = "/grpc.health.v1.Health/Check"
CHANNEL_OPTIONS = [
    ("grpc.min_reconnect_backoff_ms", 5000),  # also the timeout of a connection attempt
    ("grpc.max_reconnect_backoff_ms", BACKOFF_MS),
]


class ConnectChannel:
    """A session's connection, which `close` ends without the server's help.

    Attributes:
        spark: the session. It sends no request before it is used.
    """

    def __init__(self, url: ConnectUrl) -> None:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession

        builder = DefaultChannelBuilder(url.text, CHANNEL_OPTIONS)
        self._channel = builder.toChannel()
        builder.toChannel = lambda: self._channel  # type: ignore[method-assign]  # keeps it, to close it
        spark: Any = SparkSession(builder)
        self._policy: Any = retry_policy()
        spark.client.set_retry_policies([self._policy])
        self.spark = spark
        self._is_closed = threading.Event()
        threading.Thread(target=self._check, name="kctl-connect-check", daemon=True).start()

    def close(self) -> None:
        """End all requests of the session. Pending requests fail, and later requests are not sent."""
        self._is_closed.set()
        self._policy.is_over = True
        self._channel.close()

    def _check(self) -> None:
        """Close the channel if the server does not respond. An error is a response: Spark has no health checks."""
        import grpc  # type: ignore[import-untyped]  # has no types

        check = self._channel.unary_unary(HEALTH)
        while not self._is_closed.wait(CHECK_EVERY_S):
            try:
                check(b"", timeout=CHECK_S)
            except grpc.RpcError as e:
                if e.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    self.close()
            except ValueError:  # the channel is closed
                return


def retry_policy(clock: Clock | None = None) -> "RetryPolicy":
    """Return a policy that retries each request for `RETRY_MS`.

    Its attribute `is_over` ends all retries. The first request without a retry left sets it.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState

    class Policy(DefaultPolicy):
        """Policy that PySpark's requests share."""

        is_over = False

        def to_state(self) -> RetryPolicyState:
            return State(self)

    class State(RetryPolicyState):
        """Retries of one request."""

        _timer: Timer | None = None

        def next_attempt(self, *args: Any) -> int | None:
            if self._timer is None:
                self._timer = Timer(clock or SystemClock(), RETRY_MS)
            self._timer.update()
            policy.is_over |= self._timer.is_expired
            wait_ms = super().next_attempt(*args)
            return None if policy.is_over or wait_ms is None else min(wait_ms, self._timer.remaining_ms)

    policy = Policy(max_retries=None, max_backoff=BACKOFF_MS, min_jitter_threshold=0)
    return policy
