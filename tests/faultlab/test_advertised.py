"""Addresses that a broker advertises and that do not work from here: 18 for whoever needs that broker, never 0 records.

A call that any node can answer does not need it and succeeds.
"""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.settings import ClusterSettings
from tests.faultlab.lab import LONG, Run, check, check_at_once, check_waited, run_all
from tests.support.faults import peers


def _place(served: ServedSandbox, node_id: int = 1) -> str:
    host, port = served.listens_on(node_id)
    return f"{host}:{port}"


def _run(served: ServedSandbox, host: str, port: int) -> dict[str, Run]:
    served.sandbox.advertise(1, host, port)
    runs = run_all(_place(served))
    assert runs["topics list"].code == ExitCode.OK, runs
    return runs


def test_29_a_name_that_does_not_resolve() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        runs = _run(served, "no-such.invalid", 9092)
    for command in ("consume", "produce", "probe"):
        check(29, runs[command])
        check_waited(runs[command])


@pytest.mark.parametrize("peer", [peers.refused, peers.blackhole])
def test_30_this_machine_itself_or_a_dropping_firewall(peer: peers.Peer) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served, peer() as advertised:
        host, _, port = advertised.partition(":")
        runs = _run(served, host, int(port))
    for command in ("consume", "produce", "probe"):
        check(30, runs[command])
        check_waited(runs[command])
        assert advertised in runs[command].said


def test_30_another_server_is_found_out_at_once() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served, peers.answers(peers.HTTP_ANSWER) as advertised:
        host, _, port = advertised.partition(":")
        served.sandbox.advertise(1, host, int(port))
        runs = run_all(_place(served), limits=LONG)
    for command in ("consume", "produce", "probe"):
        assert runs[command].code == ExitCode.ADVERTISED_ADDRESS, runs[command]
        assert "advertises" in runs[command].said
        assert "an HTTP server" in runs[command].said
        check_at_once(runs[command])


def test_a_broker_that_was_named_by_the_user_is_down_and_not_wrongly_advertised() -> None:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        leader = served.sandbox.cluster.topics["t"].partitions[0].leader_id
        served.sandbox.start_fault(leader, Fault.REFUSE)
        runs = run_all(served.bootstrap, commands=("consume", "produce"))
    check(5, runs["consume"])
    check(5, runs["produce"], code=ExitCode.UNDELIVERED)
    assert "advertises" not in runs["consume"].stderr


def test_one_broker_of_three_has_a_wrong_address() -> None:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served, peers.refused() as refused:
        host, _, port = refused.partition(":")
        served.sandbox.advertise(2, host, int(port))
        runs = run_all(_place(served), commands=("consume", "topics list"))
    assert runs["topics list"].code == ExitCode.OK
    assert runs["consume"].code == ExitCode.ADVERTISED_ADDRESS
    assert f"broker 2 advertises {refused}" in runs["consume"].stderr


def test_32_another_broker_answers_where_this_one_is_advertised() -> None:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        first, second = served.listens_on(1), served.listens_on(2)
        served.sandbox.advertise(1, *second)
        served.sandbox.advertise(2, *first)
        run = run_all(_place(served), limits=LONG, commands=["probe"])["probe"]
    check(32, run)
    check_at_once(run)


def test_32_two_clusters_in_one_list() -> None:
    other = ClusterSettings(cluster_id="another-cluster")
    with Sandbox(nodes=1).serve() as served, Sandbox(nodes=1, settings=other).serve() as stranger:
        run = run_all(f"{_place(served)},{_place(stranger)}", limits=LONG, commands=["probe"])["probe"]
    assert run.code == ExitCode.ADVERTISED_ADDRESS, run
    assert "different cluster ids" in run.said
