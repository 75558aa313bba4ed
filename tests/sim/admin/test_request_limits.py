"""Requests without a response: the error states the limit that ended the wait."""

import pytest

from kctl.cli.limit_names import with_options
from kctl.client.errors import ApiTimeout, RequestTimeout
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin


@pytest.mark.parametrize(
    ("request_ms", "limit"),
    [(30_000, "timed out after 9s (--api-timeout)"), (3_000, "last error: timed out after 3s (--request-timeout)")],
)
def test_request_that_a_call_ends_names_the_timeout_of_the_call(request_ms: int, limit: str) -> None:
    def body(cluster: SimCluster, admin: object) -> None:
        with cluster.admin(request_timeout_ms=request_ms, default_api_timeout_ms=10_000) as client:
            client.describe_cluster()
            cluster.break_all(Fault.FREEZE)
            with pytest.raises(ApiTimeout) as ended:
                client.describe_cluster(timeout=9)
        assert isinstance(ended.value.cause, RequestTimeout) == (request_ms < 9_000)
        assert limit in with_options(str(ended.value))

    run_with_admin(body)
