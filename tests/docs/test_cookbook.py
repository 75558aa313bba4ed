"""The scripts of docs/cookbook.md: each is run on a healthy cluster, and on one that has the fault it is for."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kctl.client import Consumer, Producer, TopicPartition
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.docs.pages import ROOT, kctl_in
from tests.support.bounds import bound

PAGE = ROOT / "docs" / "cookbook.md"
BOUND_S = bound(60)
NODES = (1, 2, 3)


class Scene(NamedTuple):
    """A cluster with a topic `orders` of records, a group `billing` that has read half of it, and a folder."""

    served: ServedSandbox
    folder: Path
    members: list[Consumer]

    @property
    def sandbox(self) -> Sandbox:
        return self.served.sandbox

    def all_nodes(self, fault: Fault) -> None:
        for node in NODES:
            self.sandbox.start_fault(node, fault)


class Ended(NamedTuple):
    code: int
    stdout: str
    stderr: str


class Recipe(NamedTuple):
    """What a script must do: with the fault, and without it."""

    fault: Callable[[Scene], object]
    code: int
    told: str
    """Part of what is printed under the fault."""
    healthy_code: int = 0
    healthy_told: str = ""
    before: Callable[[Scene], object] = id
    """What the script's user has done first."""
    arguments: tuple[str, ...] = ()


def _scripts() -> dict[str, str]:
    text = PAGE.read_text()
    found = re.findall(r"^### (.+?)\n(.*?)^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {title: script for title, _, script in found}


def _probed_before(scene: Scene) -> None:
    probe, _, _ = _scripts()["Compare with a healthy state"].partition("exec diff")
    run(probe.replace("after.txt", "before.txt"), scene)


def _lose_leader(scene: Scene) -> None:
    scene.sandbox.elect_late("orders", 1, 2, ms=60_000)


def _delete_records(scene: Scene) -> None:
    for partition in range(3):
        scene.sandbox.delete_records("orders", partition, 100)


def _too_few_replicas(scene: Scene) -> None:
    scene.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=10_000)


def _join(scene: Scene) -> None:
    member = Consumer({"bootstrap.servers": scene.served.bootstrap, "group.id": "billing"})
    scene.members.append(member)
    member.subscribe(["orders"])
    while not member.assignment:
        member.poll(timeout=1)


def _leave(scene: Scene) -> None:
    scene.members.pop().close(timeout=10)


def _no_group(scene: Scene) -> None:
    run("kctl groups delete billing --execute", scene)


def _saved(scene: Scene) -> None:
    run("kctl consume orders -o start -e --output jsonl -q >orders.jsonl", scene)


RECIPES = {
    "Classify a connection failure": Recipe(
        lambda scene: scene.all_nodes(Fault.SILENCE), 12, "a broker that hangs", 0, "usable"
    ),
    "List addresses that do not work": Recipe(
        lambda scene: scene.sandbox.start_fault(2, Fault.SILENCE), 1, "expired", 0, "all addresses are ready"
    ),
    "Wait until the cluster is up": Recipe(lambda scene: scene.all_nodes(Fault.REFUSE), 11, "fail", 0, "ok"),
    "Write and read a test record": Recipe(
        lambda scene: scene.all_nodes(Fault.FREEZE), 12, "NOT sent", 0, "written and read back"
    ),
    "Find partitions without a leader": Recipe(_lose_leader, 1, "no leader: orders 1"),
    "Compare with a healthy state": Recipe(
        lambda scene: scene.sandbox.start_fault(2, Fault.REFUSE), 1, "> ", 0, "", before=_probed_before
    ),
    "Show where the time goes": Recipe(lambda scene: scene.all_nodes(Fault.SILENCE), 12, "apiversions"),
    "Measure latency": Recipe(lambda scene: scene.all_nodes(Fault.FREEZE), 12, "", 0, "p99"),
    "Alert on lag": Recipe(lambda scene: _produce(scene, 900), 3, "orders", 0, "orders"),
    "Check that a group has members": Recipe(_leave, 1, "billing has no members", before=_join),
    "Set a group back by an hour": Recipe(_no_group, 23, "billing", 0, "orders"),
    "Skip a record that no consumer can read": Recipe(_no_group, 23, "billing", 0, "orders"),
    "Find a record by its key": Recipe(_delete_records, 1, "no record of ann", 0, "orders-"),
    "Count the records of the last hour": Recipe(
        lambda scene: scene.all_nodes(Fault.REFUSE), 11, "", 0, "300 records in the last hour"
    ),
    "Save a topic to a file and restore it": Recipe(
        lambda scene: scene.all_nodes(Fault.REFUSE), 11, "", 0, "300 records delivered"
    ),
    "Send undelivered records again": Recipe(
        _too_few_replicas,
        20,
        "NOT delivered",
        0,
        "300 records delivered",
        before=_saved,
    ),
}


def _produce(scene: Scene, count: int) -> None:
    with Producer({"bootstrap.servers": scene.served.bootstrap}) as producer:
        for number in range(count):
            key = b"ann" if number % 10 == 0 else b"bob"
            producer.send("orders", value=b"v%d" % number, key=key, partition=number % 3)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Sandbox(nodes=3, topics={"orders": 3, "orders-copy": 3, "canary": 1}).serve() as served:
        scene = Scene(served, tmp_path, [])
        _produce(scene, 300)
        settings = {"bootstrap.servers": served.bootstrap, "group.id": "billing", "enable.auto.commit": "false"}
        with Consumer(settings) as consumer:
            consumer.assign([TopicPartition("orders", partition) for partition in range(3)])
            consumer.commit_sync({TopicPartition("orders", partition): 50 for partition in range(3)}, timeout=10)
        yield scene
        for member in scene.members:
            member.close(timeout=10)


def run(script: str, scene: Scene, *arguments: str) -> Ended:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("KCTL_")}
    environ = {
        **ours,
        "PATH": f"{kctl_in(scene.folder)}:{ours['PATH']}",
        "HOME": str(scene.folder),
        "PAUSE_S": "0.01",
        "KCTL_BOOTSTRAP_SERVERS": scene.served.bootstrap,
    }
    done = subprocess.run(
        ["bash", "-c", script, "script", *arguments],
        cwd=scene.folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_each_script_has_its_test_and_there_are_fifteen() -> None:
    assert list(_scripts()) == list(RECIPES)
    assert len(RECIPES) >= 15


@pytest.mark.nightly
@pytest.mark.parametrize("title", RECIPES)
def test_on_a_healthy_cluster(title: str, scene: Scene) -> None:
    recipe = RECIPES[title]
    recipe.before(scene)
    ended = run(_scripts()[title], scene, *recipe.arguments)
    assert (ended.code, recipe.healthy_told in ended.stdout + ended.stderr) == (recipe.healthy_code, True), ended


@pytest.mark.parametrize("title", RECIPES)
def test_with_the_fault_it_is_for(title: str, scene: Scene) -> None:
    recipe = RECIPES[title]
    recipe.before(scene)
    recipe.fault(scene)
    ended = run(_scripts()[title], scene, *recipe.arguments)
    assert (ended.code, recipe.told in ended.stdout + ended.stderr) == (recipe.code, True), ended
