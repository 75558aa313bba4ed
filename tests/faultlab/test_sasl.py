"""SASL faults on the sandbox's own brokers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.faultlab.lab import LONG, check, check_at_once, check_fails_fast, check_waited, run_all
from tests.support.faults import peers

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{}";'
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="wonderland";'


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    security = ListenerSecurity(users=SaslUsers({"alice": "wonderland"}, ("PLAIN",)))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        yield served.bootstrap


def _login(folder: Path, mechanism: str, jaas: str) -> tuple[str, str]:
    file = folder / "client.properties"
    lines = ["security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}", f"sasl.jaas.config={jaas}"]
    file.write_text("\n".join(lines) + "\n")
    return "--command-config", str(file)


def test_the_right_password_is_let_in(servers: str, tmp_path: Path) -> None:
    runs = run_all(servers, *_login(tmp_path, "PLAIN", LOGIN.format("wonderland")), limits=LONG)
    assert {run.code for run in runs.values()} == {0}, runs


def test_25_no_sasl_where_it_is_wanted(servers: str) -> None:
    for run in run_all(servers).values():
        check(25, run)
        check_fails_fast(run)


def test_26_a_mechanism_that_is_not_offered(tmp_path: Path) -> None:
    security = ListenerSecurity(users=SaslUsers({"alice": "wonderland"}, ("PLAIN", "SCRAM-SHA-512")))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        for run in run_all(served.bootstrap, *_login(tmp_path, "SCRAM-SHA-256", SCRAM), limits=LONG).values():
            check(26, run)
            check_at_once(run)
            assert "the broker does not support SCRAM-SHA-256 (supported: PLAIN, SCRAM-SHA-512" in run.said


def test_26_only_plain_is_offered_and_the_hint_does_not_lead_to_it(servers: str, tmp_path: Path) -> None:
    for run in run_all(servers, *_login(tmp_path, "SCRAM-SHA-256", SCRAM), limits=LONG).values():
        assert "the broker does not support SCRAM-SHA-256 (supported: PLAIN" in run.said
        assert "set sasl.mechanism" not in run.said


def test_27_a_wrong_password_is_not_tried_again(servers: str, tmp_path: Path) -> None:
    for run in run_all(servers, *_login(tmp_path, "PLAIN", LOGIN.format("looking-glass")), limits=LONG).values():
        check(27, run)
        check_at_once(run)
        assert "looking-glass" not in run.stdout + run.stderr


def test_28_the_exchange_hangs(tmp_path: Path) -> None:
    with peers.only_versions() as servers:
        for run in run_all(servers, *_login(tmp_path, "PLAIN", LOGIN.format("x"))).values():
            check(28, run)
            check_waited(run)
