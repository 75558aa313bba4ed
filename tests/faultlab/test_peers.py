"""Faults that a scripted peer on a real socket makes."""

from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from tests.faultlab.lab import CALLS, LONG, SHORT, check, check_at_once, check_fails_fast, check_waited, run_all
from tests.support.faults import peers


class Row(NamedTuple):
    """A fault by its number, and the peer that makes it.

    Attributes:
        waits: until the deadline, as it may pass.
        fails_fast: at the second attempt, with --fail-fast.
    """

    fault: int
    peer: peers.Peer
    options: tuple[str, ...] = ()
    waits: bool = False
    fails_fast: bool = False
    name: str = ""


def _greets(greeting: bytes) -> peers.Peer:
    return lambda: peers.greets(greeting)


def _answers(answer: bytes) -> peers.Peer:
    return lambda: peers.answers(answer)


TLS = ("--security-protocol", "SSL")
ROWS = (
    Row(5, peers.refused, waits=True),
    Row(7, peers.blackhole, waits=True),
    Row(10, peers.silent, waits=True),
    Row(11, peers.closes_at_once, waits=True),
    Row(12, peers.resets, waits=True),
    Row(13, _answers(peers.TLS_ALERT)),
    Row(14, peers.closes_after_bytes, TLS, waits=True, fails_fast=True),
    Row(15, _answers(peers.HTTP_ANSWER)),
    Row(16, _greets(peers.SSH_GREETING), name="ssh"),
    Row(16, _answers(peers.AMQP_ANSWER), name="amqp"),
    Row(16, _answers(peers.REDIS_ANSWER), name="redis"),
    Row(16, _greets(peers.SMTP_GREETING), name="smtp"),
    Row(17, _answers(peers.HUGE_FRAME), name="huge"),
    Row(17, _answers(peers.NEGATIVE_FRAME), name="negative"),
    Row(18, peers.silent, TLS, waits=True),
    Row(33, peers.only_versions, waits=True),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.fault}{row.name and '-'}{row.name}")
def test_row(row: Row) -> None:
    with row.peer() as servers:
        runs = run_all(servers, *row.options, limits=SHORT if row.waits else LONG)
    for run in runs.values():
        check(row.fault, run)
        assert servers in run.said, run
        if row.fails_fast:
            check_fails_fast(run)
        elif row.waits:
            check_waited(run)
        else:
            check_at_once(run)


def test_8_some_servers_are_dead() -> None:
    with ExitStack() as stack:
        dead = [stack.enter_context(peer()) for peer in (peers.refused, peers.blackhole, peers.silent)]
        served = stack.enter_context(Sandbox(nodes=1, topics={"t": 1}).serve())
        runs = run_all(",".join([*dead, served.bootstrap]), limits=LONG._replace(connect_ms=1_000))
    for run in runs.values():
        assert run.code == ExitCode.OK, run
        check_at_once(run)
    check(8, runs["probe"])


def _all_dead() -> tuple[list[AbstractContextManager[str]], tuple[str, ...]]:
    dead = [peers.refused(), peers.blackhole(), peers.silent(), peers.answers(peers.HTTP_ANSWER)]
    return dead, ("connection refused", "no SYN-ACK", "no ApiVersions response", "the server is an HTTP server")


def test_9_all_servers_are_dead_each_in_its_own_way() -> None:
    dead, causes = _all_dead()
    with ExitStack() as stack:
        servers = [stack.enter_context(peer) for peer in dead]
        runs = run_all(",".join(servers), limits=SHORT._replace(api_ms=3_000))
    for run in runs.values():
        check(9, run)
        told = [line for line in run.said.splitlines() if any(cause in line for cause in causes)]
        for server, cause in zip(servers, causes, strict=True):
            assert any(server in line and cause in line for line in told), (server, cause, run)


def test_9_the_code_is_that_of_the_server_that_got_furthest() -> None:
    with peers.refused() as refused, peers.silent() as silent:
        runs = run_all(f"{silent},no-such-host.invalid:9092,{refused}")
    assert {run.code for run in runs.values()} == {ExitCode.CONNECT_TIMEOUT}, runs
    for command in CALLS:
        also = [line for line in runs[command].stderr.splitlines() if line.startswith("  also ")]
        assert len(also) == 2, runs[command]
