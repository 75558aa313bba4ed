"""Faults of calls on connections that work, and of settings."""

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import NO_NODE
from kctl.sandbox import Sandbox
from kctl.sandbox.settings import ClusterSettings
from tests.cli.processes import kctl
from tests.faultlab.lab import SHORT, Run, check, check_at_once, check_waited, run_all
from tests.support.faults import peers


def test_34_the_whole_call_runs_out_of_time_before_any_limit_of_its_parts() -> None:
    with peers.silent() as servers:
        limits = SHORT._replace(connect_ms=SHORT.api_ms, request_ms=SHORT.api_ms)
        runs = run_all(servers, limits=limits, commands=("consume", "topics list"))
    for run in runs.values():
        assert run.code in (ExitCode.API_TIMEOUT, ExitCode.CONNECT_TIMEOUT), run
        assert "(--api-timeout" in run.stderr
        assert "default.api.timeout.ms=1500: connecting" in run.stderr
        assert "1 connection attempt" in run.stderr


def test_36_and_41_a_partition_without_a_leader() -> None:
    with Sandbox(nodes=2, topics={"t": 1}).serve() as served:
        served.sandbox.cluster.topics["t"].partitions[0].leader_id = NO_NODE
        runs = run_all(served.bootstrap, commands=("consume", "produce"))
    check(36, runs["consume"])
    check(36, runs["produce"], code=ExitCode.UNDELIVERED)
    check(41, runs["produce"])
    for run in runs.values():
        check_waited(run)


def test_37_a_topic_that_does_not_exist() -> None:
    settings = ClusterSettings(auto_create_topics_enable=False)
    with Sandbox(nodes=1, settings=settings).serve() as served:
        runs = run_all(served.bootstrap, commands=("consume", "produce"))
        described = kctl("topics", "describe", "t", "-b", served.bootstrap)
    for run in (*runs.values(), Run("topics describe", described.code, "", described.stderr, 0)):
        check(37, run)


def test_49_limits_that_cannot_both_hold() -> None:
    with peers.refused() as servers:
        ceiling = ("-X", "socket.connection.setup.timeout.max.ms=100")
        runs = run_all(servers, *ceiling, commands=("consume", "topics list", "probe"))
    for run in runs.values():
        check(49, run)
        check_at_once(run)
