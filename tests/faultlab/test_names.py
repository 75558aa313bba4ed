"""Names that do not resolve, and resolvers that do not answer."""

import threading
from collections.abc import Iterator

import pytest

from kctl.cli.explanations.fault import matches
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.failures import explain
from kctl.client import Admin
from kctl.client.errors import ApiTimeout
from kctl.client.network.resolver import ThreadResolver
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Address
from tests.faultlab.lab import check, check_waited, run_all
from tests.support.bounds import bound


def test_1_a_name_that_does_not_exist() -> None:
    for run in run_all("no-such-host.invalid:9092").values():
        check(1, run)
        check_waited(run)
        assert "no-such-host.invalid:9092" in run.said


@pytest.fixture
def silent_resolver() -> Iterator[ThreadResolver]:
    """A resolver whose look-ups take until the test is over."""
    is_over = threading.Event()

    def wait(_host: str, _port: int) -> list[Address]:
        is_over.wait(bound(30))
        return []

    yield ThreadResolver(wait)
    is_over.set()


def test_2_a_resolver_that_does_not_answer_holds_up_nobody(silent_resolver: ThreadResolver) -> None:
    """Through the library, since a process cannot be given a resolver; whole processes: test_namespaces.py."""
    runtime = system_runtime()._replace(resolver=silent_resolver)
    limits = {"default.api.timeout.ms": 600, "request.timeout.ms": 200, "socket.connection.setup.timeout.ms": 150}
    admin = Admin({"bootstrap.servers": "slow.example:9092", **limits}, runtime)
    with admin, pytest.raises(ApiTimeout) as caught:
        admin.list_topics()
    failure = explain(caught.value)
    assert failure.code == FAULTS[2].code
    assert matches(FAULTS[2].reason, failure.message), failure
    assert failure.hint == FAULTS[2].hint
    assert caught.value.phase == "dns"
    assert caught.value.elapsed_ms >= 600
