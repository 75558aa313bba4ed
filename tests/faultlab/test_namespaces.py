"""Packets that are dropped, routes that end, names with dead addresses, a mute resolver, a peer that is cut off.

In network namespaces of the test's own: skipped, with the reason, where the machine allows none.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import matches
from kctl.cli.explanations.faults import FAULTS
from tests.cli.processes import BOUND_S, environment
from tests.faultlab.lab import LONG, SHORT, check, check_at_once, check_waited, run_all
from tests.support.faults.namespaces import NOBODY, SERVER, UNROUTED, Cable, NoNamespaces, cable

pytestmark = pytest.mark.nightly

PORT = 9092
SERVE = ("-m", "kctl", "sandbox", "start", "--nodes", "1", "--host", SERVER, "--port", str(PORT))


@pytest.fixture(scope="module")
def wire() -> Iterator[Cable]:
    try:
        with cable() as made:
            yield made
    except NoNamespaces as error:
        pytest.skip(f"no network namespaces here: {error}")


@pytest.fixture(scope="module")
def broker(wire: Cable) -> Iterator[str]:
    """A sandbox in the server's namespace, with topic t."""
    line = [*wire.in_server(), sys.executable, *SERVE]
    with subprocess.Popen(line, stdout=subprocess.PIPE, env=environment()) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{SERVER}:{PORT}\n".encode()
            servers = f"{SERVER}:{PORT}"
            create = [*wire.in_client(), sys.executable, "-m", "kctl", "topics", "create", "t", "-b", servers]
            subprocess.run(create, env=environment(), timeout=BOUND_S, check=True, capture_output=True)
            yield servers
        finally:
            process.kill()


@pytest.fixture
def mended(wire: Cable) -> Iterator[Cable]:
    yield wire
    wire.mend()


def test_2_a_resolver_that_does_not_answer(wire: Cable) -> None:
    for run in run_all("broker.example:9092", prefix=wire.in_client()).values():
        check(2, run)
        check_waited(run)


def test_3_one_of_two_addresses_is_dead(wire: Cable, broker: str) -> None:
    limits = LONG._replace(connect_ms=1_000)
    runs = run_all(f"several.test:{PORT}", prefix=wire.in_client(), limits=limits)
    for run in runs.values():
        assert run.code == ExitCode.OK, run
        check_at_once(run)
    check(3, runs["probe"])
    assert f"[{NOBODY}]" in runs["probe"].said


def test_4_ipv6_is_dead_and_ipv4_works(wire: Cable, broker: str) -> None:
    runs = run_all(f"both.test:{PORT}", prefix=wire.in_client(), limits=LONG)
    for run in runs.values():
        assert run.code == ExitCode.OK, run
        check_at_once(run)
    check(4, runs["probe"])


def test_6_there_is_no_way(wire: Cable) -> None:
    for run in run_all(f"{UNROUTED}:{PORT}", prefix=wire.in_client()).values():
        check(6, run)
        check_waited(run)


def test_7_nobody_is_there(wire: Cable) -> None:
    for run in run_all(f"{NOBODY}:{PORT}", prefix=wire.in_client()).values():
        check(7, run)
        check_waited(run)


@pytest.mark.parametrize("direction", ["requests", "answers"])
def test_7_packets_are_dropped(direction: str, mended: Cable, broker: str) -> None:
    getattr(mended, f"lose_{direction}")()
    for run in run_all(broker, prefix=mended.in_client()).values():
        check(7, run)
        check_waited(run)


@pytest.mark.parametrize("direction", ["requests", "answers"])
def test_47_the_way_is_cut_under_a_connection(direction: str, mended: Cable, broker: str) -> None:
    """Here a producer's: its record is not acknowledged, and the account names what did not answer."""
    kctl = [*mended.in_client(), sys.executable, "-m", "kctl"]
    create = [*kctl, "topics", "create", direction, "-b", broker]
    subprocess.run(create, env=environment(), timeout=BOUND_S, check=True, capture_output=True)
    limits = SHORT._replace(api_ms=2_500, request_ms=2_000, connect_ms=2_000)
    line = [*kctl, "produce", direction, "-b", broker, *limits.options("produce")]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(b"one\n")
            process.stdin.flush()
            consume = [*kctl, "consume", direction, "-b", broker, "-n", "1"]
            arrived = subprocess.run(consume, env=environment(), timeout=BOUND_S, check=True, capture_output=True)
            assert arrived.stdout == b"one\n"
            getattr(mended, f"lose_{direction}")()
            _, stderr = process.communicate(b"two\n", timeout=BOUND_S)
        finally:
            process.kill()
    told = stderr.decode()
    assert process.returncode == ExitCode.UNDELIVERED, told
    assert "1 record delivered" in told
    assert "1 record NOT delivered, 1 of which may have been written" in told
    assert any(matches(FAULTS[number].reason, told) for number in (46, 47)), told
