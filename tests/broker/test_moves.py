"""`kctl partitions` on real brokers, one of them down at times, beside Kafka's own tools."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.client.producer import Producer
from tests.cli.processes import Ended, end, kctl, running
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
THROTTLE = "replication.throttled"
MOVE_TIMEOUT_MS = bound(60_000)


@pytest.fixture
def kafka(kafka_three: KafkaCluster) -> Iterator[KafkaCluster]:
    """Three brokers of the newest Kafka; those that a test has killed are started again."""
    yield kafka_three
    for node in kafka_three.nodes:
        if not node.process.is_running:
            node.start()


def run(kafka: KafkaCluster, *words: str) -> Ended:
    return kctl("partitions", *words, "-b", kafka.bootstrap())


def rows(ended: Ended) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def replicas(kafka: KafkaCluster, topic: str) -> list[list[int]]:
    ended = kctl("topics", "describe", topic, "-b", kafka.bootstrap(), "--output", "json")
    return [row["replicas"] for row in sorted(rows(ended), key=lambda row: int(row["partition"]))]


def throttles(kafka: KafkaCluster, topic: str, brokers: tuple[str, ...] = ("1", "2", "3")) -> dict[str, str]:
    """The properties of a throttle that are set, by what they are set of."""
    found: dict[str, str] = {}
    for kind, name in (("topic", topic), *(("broker", each) for each in brokers)):
        ended = kctl("configs", "show", kind, name, "--changed", "-b", kafka.bootstrap(), "--output", "json")
        found |= {f"{name} {row['key']}": row["value"] for row in rows(ended) if THROTTLE in row["key"]}
    return found


def java(kafka: KafkaCluster, *words: str) -> str:
    return kafka.run_tool(REASSIGN, "--bootstrap-server", kafka.bootstrap(), *words)


def save_plan(kafka: KafkaCluster, folder: Path, *words: str) -> Path:
    ended = run(kafka, "plan", *words)
    assert ended.code == 0, ended
    (folder / "plan.json").write_bytes(ended.stdout)
    return folder / "plan.json"


def fill(kafka: KafkaCluster, topic: str, records: int) -> None:
    options = ("-n", str(records), "--record-size", "10KiB", "--topic", topic)
    assert kctl("bench", "produce", *options, "-b", kafka.bootstrap()).code == 0


def test_plan_of_kctl_is_carried_out_by_java(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=6, replication=1)
    plan = save_plan(kafka, tmp_path, topic, "--to", "1,2")
    wanted = {each["partition"]: each["replicas"] for each in json.loads(plan.read_text())["partitions"]}
    assert wanted
    java(kafka, "--execute", "--reassignment-json-file", str(plan))
    done = run(kafka, "move", str(plan), "--resume", "--output", "json")
    assert (done.code, {row["result"] for row in rows(done)}) == (0, {"moved"}), done
    assert {index: each for index, each in enumerate(replicas(kafka, topic)) if index in wanted} == wanted
    assert "is complete" in java(kafka, "--verify", "--reassignment-json-file", str(plan))


def test_plan_of_java_is_carried_out_by_kctl(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=6, replication=2)
    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    words = ("--topics-to-move-json-file", str(tmp_path / "topics.json"), "--broker-list", "2,3")
    proposed = java(kafka, "--generate", *words).strip().splitlines()[-1]
    (tmp_path / "plan.json").write_text(proposed)
    assert run(kafka, "move", str(tmp_path / "plan.json")).code == 0
    assert [sorted(each) for each in replicas(kafka, topic)] == [[2, 3]] * 6


def test_throttled_move_is_interrupted_resumed_and_leaves_nothing(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=1, replication=1)
    fill(kafka, topic, 2_000)
    [[before]] = replicas(kafka, topic)
    plan = save_plan(kafka, tmp_path, topic, "--away-from", str(before))
    [entry] = json.loads(plan.read_text())["partitions"]
    [after] = entry["replicas"]
    with running("partitions", "move", str(plan), "--throttle", "200kB", "-b", kafka.bootstrap()) as process:
        wait_until(lambda: topic.encode() in run(kafka, "list").stdout, MOVE_TIMEOUT_MS, "the move")
        ended = end(process, signal.SIGINT)
    assert (ended.code, f"kctl partitions move {plan} --resume" in ended.stderr) == (130, True), ended
    found = throttles(kafka, topic)
    assert found[f"{topic} leader.{THROTTLE}.replicas"] == f"0:{before}"
    assert found[f"{topic} follower.{THROTTLE}.replicas"] == f"0:{after}"
    assert found[f"{after} follower.{THROTTLE}.rate"] == "200000"
    assert "200000" in kafka.run_tool(
        "kafka.admin.ConfigCommand", "--bootstrap-server", kafka.bootstrap(), "--describe", "--entity-type", "brokers",
        "--entity-name", str(after),
    )  # fmt: skip
    resumed = run(kafka, "move", str(plan), "--resume", "--throttle", "50MB", "--output", "json")
    assert (resumed.code, [row["result"] for row in rows(resumed)]) == (0, ["moved"]), resumed
    assert (replicas(kafka, topic), throttles(kafka, topic)) == ([[after]], {})


def test_throttled_move_is_cancelled_and_leaves_nothing(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=1, replication=1)
    fill(kafka, topic, 2_000)
    [[before]] = replicas(kafka, topic)
    plan = save_plan(kafka, tmp_path, topic, "--away-from", str(before))
    started = run(kafka, "move", str(plan), "--throttle", "100kB", "--wait", "0s", "--output", "json")
    assert [row["result"] for row in rows(started)] == ["started"]
    assert len(throttles(kafka, topic)) == 6
    cancelled = run(kafka, "move", str(plan), "--cancel", "--output", "json")
    assert (cancelled.code, [row["result"] for row in rows(cancelled)]) == (0, ["cancelled"]), cancelled
    assert throttles(kafka, topic) == {}
    wait_until(lambda: replicas(kafka, topic) == [[before]], MOVE_TIMEOUT_MS, "the replicas of before")


def test_partitions_leave_a_broker_that_is_down(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic, alone = kafka.create_topic(partitions=6, replication=2), kafka.create_topic(partitions=3, replication=1)
    kafka.node(3).kill()
    wait_until(lambda: kctl("wait", "brokers", "3", "--api-timeout", "1s", "-b", kafka.bootstrap()).code == 17,
               MOVE_TIMEOUT_MS, "the end of broker 3")  # fmt: skip
    partly = run(kafka, "plan", topic, alone, "--away-from", "3")
    assert (partly.code, "cannot copy 1 partition" in partly.stderr, alone in partly.stderr) == (3, True, True)
    plan = save_plan(kafka, tmp_path, topic, "--away-from", "3")
    moved = run(kafka, "move", str(plan), "--throttle", "50MB", "--output", "json")
    assert (moved.code, {row["result"] for row in rows(moved)}) == (0, {"moved"}), moved
    assert [sorted(each) for each in replicas(kafka, topic)] == [[1, 2]] * 6
    assert throttles(kafka, topic, ("1", "2")) == {}
    elected = run(kafka, "elect", topic, "--output", "json")
    assert elected.code == 0, elected
    assert {row["result"] for row in rows(elected)} <= {"elected", "not needed"}
    (tmp_path / "back.json").write_text(
        json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [1, 3]}]})
    )
    refused = run(kafka, "move", str(tmp_path / "back.json"))
    assert (refused.code, "to broker 3: the broker is down or does not exist" in refused.stderr) == (23, True), refused


@pytest.mark.parametrize("flag", ["--resume", "--cancel"])
def test_throttle_of_a_killed_move_is_removed_while_a_broker_is_down(
    kafka: KafkaCluster, tmp_path: Path, flag: str
) -> None:
    topic = kafka.create_topic(partitions=1, replication=2)
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        for _ in range(500):
            producer.send(topic, bytes(10_000))
    [[leader, other]] = replicas(kafka, topic)
    [target] = {1, 2, 3} - {leader, other}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [leader, target]}]}))
    with running("partitions", "move", str(plan), "--throttle", "50kB", "-b", kafka.bootstrap()) as process:
        wait_until(lambda: topic.encode() in run(kafka, "list").stdout, MOVE_TIMEOUT_MS, "the move")
        assert end(process, signal.SIGKILL).code == -signal.SIGKILL
    assert len(throttles(kafka, topic)) == 2 + 2 * 3
    down = other if flag == "--resume" else target
    kafka.node(down).kill()
    wait_until(lambda: kctl("wait", "brokers", "3", "--api-timeout", "1s", "-b", kafka.bootstrap()).code == 17,
               MOVE_TIMEOUT_MS, f"the end of broker {down}")  # fmt: skip
    limit = ("--throttle", "50MB") if flag == "--resume" else ()
    done = run(kafka, "move", str(plan), flag, *limit, "--output", "json")
    assert (done.code, [row["result"] for row in rows(done)]) == (0, ["moved" if limit else "cancelled"]), done
    up = tuple(str(each) for each in (1, 2, 3) if each != down)
    assert throttles(kafka, topic, up) == {}
    unset = f"configs unset broker {down} leader.{THROTTLE}.rate follower.{THROTTLE}.rate"
    assert f"hint: when broker {down} is up, run: kctl {unset}" in done.stderr, done
    kafka.node(down).start()
    wait_until(lambda: kctl(*unset.split(), "-b", kafka.bootstrap()).code == 0, MOVE_TIMEOUT_MS, f"broker {down}")
    assert throttles(kafka, topic) == {}
    wanted = [leader, target if flag == "--resume" else other]
    wait_until(lambda: replicas(kafka, topic) == [wanted], MOVE_TIMEOUT_MS, f"the replicas {wanted}")


def test_leaders_are_elected(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(partitions=3, replication=2)
    [preferred, other], *_ = replicas(kafka, topic)
    kafka.node(preferred).stop()
    wait_until(lambda: rows(kctl("topics", "describe", topic, "-b", kafka.bootstrap(), "--output", "json"))[0]["leader"]
               == other, MOVE_TIMEOUT_MS, "the other leader")  # fmt: skip
    failed = run(kafka, "elect", f"{topic}:0")
    assert (failed.code, "PREFERRED_LEADER_NOT_AVAILABLE" in failed.stderr) == (19, True), failed
    kafka.node(preferred).start()
    wait_until(lambda: run(kafka, "elect", f"{topic}:0").code == 0, MOVE_TIMEOUT_MS, "the preferred leader")
    unclean = run(kafka, "elect", topic, "--unclean", "--execute", "--output", "json")
    assert (unclean.code, {row["result"] for row in rows(unclean)}) == (0, {"not needed"}), unclean


def test_every_release_moves_lists_and_elects(any_kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = any_kafka.create_topic(partitions=2)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [1]}]}))
    for words in ((), ("--resume", "--throttle", "1MB"), ("--cancel",)):
        ended = run(any_kafka, "move", str(plan), *words, "--output", "json")
        assert (ended.code, [row["result"] for row in rows(ended)]) == (0, ["moved"]), ended
    assert throttles(any_kafka, topic, ("1",)) == {}
    assert run(any_kafka, "list").code == 0
    elected = run(any_kafka, "elect", topic, "--output", "json")
    assert {row["result"] for row in rows(elected)} == {"not needed"}
    missing = run(any_kafka, "plan", topic, "--replication-factor", "2")
    assert (missing.code, "cannot place 2 replicas of" in missing.stderr) == (2, True)
