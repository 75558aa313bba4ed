"""Ctrl-C at every point of admin calls and of the commands that make them: they close, and leave no connection open."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import kctl
from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted as Signal
from kctl.client.admin import Admin, NewTopic, offsets
from kctl.client.cluster import TopicPartition
from tests.sim.interrupts import Interrupted, each_boundary
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub
from tests.unit.cli.run_in_process import Ended, run_in_process

ROOT = str(Path(kctl.__file__).parent)
"""All code of kctl."""
MODULES = ("kctl.client.admin.admin", "kctl.cli.metadata_wait", "kctl.cli.why.run")
"""Those that take the runtime of the system."""

CALLS: dict[str, Callable[[Admin], object]] = {
    "topics": lambda admin: admin.describe_topics(["t", "u"]),
    "creation": lambda admin: admin.create_topics([NewTopic("new", 1)]),
    "leaders": lambda admin: admin.list_offsets({TopicPartition("t", p): offsets.LATEST for p in range(4)}),
    "brokers": lambda admin: admin.list_groups(),
    "coordinator": lambda admin: admin.list_group_offsets("g"),
}


def scene_cluster(hub: Hub) -> SimCluster:
    return SimCluster(hub, topics={"t": 4, "u": 2})


@pytest.mark.parametrize("name", CALLS)
def test_interrupted_call_leaves_a_usable_client_that_closes_every_connection(name: str) -> None:
    call = CALLS[name]

    def scene(interrupted: Interrupted) -> None:
        with Hub(seed=3) as hub:
            cluster = scene_cluster(hub)

            def app() -> None:
                with cluster.admin() as admin:
                    interrupted(lambda: call(admin))
                    assert admin.list_topics(timeout=5)
                    call(admin)

            cluster.run(app)

    assert each_boundary(scene, most=20_000, step=131) > 500


COMMANDS = {
    "list": "topics list",
    "creation": "topics create new",
    "trim": "topics trim t --before end --execute",
    "lag": "groups lag g",
    "why": "why topic t",
    "apply": "apply -f -",
    "plan": "partitions plan t --to 1,2",
    "configs": "configs set topic t retention.ms=1",
}
DOCUMENT = b"topics: [{name: new}, {name: t, configs: {retention.ms: 5}, partitions: 9}]"


@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted_command_ends_with_130_and_closes_every_connection(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise Signal(ExitCode.SIGINT)

    def scene(interrupted: Interrupted) -> None:
        interrupted.handler = interrupt
        with Hub(seed=3) as hub:
            cluster = scene_cluster(hub)
            for module in MODULES:
                monkeypatch.setattr(f"{module}.system_runtime", lambda: cluster.runtime)
            monkeypatch.setattr("kctl.cli.overtime.interrupted_after", lambda *_: nullcontext())  # a signal

            def command() -> Ended:
                line = (*COMMANDS[name].split(), "-b", cluster.bootstrap, "--api-timeout", "5s")
                try:
                    ended = run_in_process(*line, stdin=DOCUMENT, clock=cluster.clock)
                except Signal:  # where `main` catches it
                    raise KeyboardInterrupt from None
                assert "Traceback" not in ended.stderr
                if interrupted.at is not None:
                    assert ended.code == ExitCode.SIGINT, ended
                    assert "interrupted" in ended.stderr, ended
                    raise KeyboardInterrupt
                assert ended.code in (ExitCode.OK, ExitCode.DEGRADED), ended
                return ended

            def app() -> None:
                cluster.commit("g", {("t", 0): 0})
                interrupted(command)

            cluster.run(app)

    assert each_boundary(scene, most=100_000, step=997, folder=ROOT) > 500
