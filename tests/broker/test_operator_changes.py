"""`kctl apply`, `topics trim|offsets|describe --size`, `cluster`, `brokers log-dirs` and `wait` on 4.3.1, 3.9.1 and
2.8.2 as whole processes; what they write is read back by Kafka's own tools, and the other way round.
"""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.broker.test_operator_configs import run
from tests.cli.processes import end, kctl, running
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

PATIENCE_MS = bound(30_000)


def rows(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = run(kafka, *words, "--output", "json")
    assert ended.code == 0, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def tool(kafka: KafkaCluster, name: str, *words: str) -> str:
    """Run one of Kafka's tools, which have moved since 2.8."""
    old = {"GetOffsetShell": "kafka.tools"}.get(name, "kafka.admin")
    is_old = kafka.version.startswith("2.")
    option = "--broker-list" if is_old and name == "GetOffsetShell" else "--bootstrap-server"
    return kafka.run_tool(f"{old if is_old else 'org.apache.kafka.tools'}.{name}", option, kafka.bootstrap(), *words)


def fill(kafka: KafkaCluster, topic: str, count: int) -> None:
    lines = b"".join(b"record %d\n" % number for number in range(count))
    ended = kctl("produce", topic, "-p", "0", "-b", kafka.bootstrap(), "-q", stdin=lines)
    assert ended.code == 0, ended


def apply(kafka: KafkaCluster, document: object, *words: str) -> Any:
    text = json.dumps(document).encode()
    return kctl("apply", "-f", "-", *words, "-b", kafka.bootstrap(), "--output", "json", stdin=text)


def results(ended: Any) -> list[tuple[str, str | None, str]]:
    return [(row["action"], row["key"], row["result"]) for row in json.loads(ended.stdout)["rows"]]


@pytest.mark.nightly
def test_applied_topics_are_described_by_java_and_those_of_java_are_exported(any_kafka: KafkaCluster) -> None:
    there, new = any_kafka.create_topic(partitions=2), f"{any_kafka.create_topic()}-new"
    topics = [
        {"name": there, "partitions": 4, "configs": {"retention.ms": 86400000}},
        {"name": new, "partitions": 3, "replication_factor": 1, "configs": {"cleanup.policy": "compact"}},
    ]
    differs = apply(any_kafka, {"topics": topics}, "--diff")
    assert (differs.code, len(json.loads(differs.stdout)["rows"])) == (3, 3), differs
    assert apply(any_kafka, {"topics": topics}, "--dry-run").code == 0
    made = apply(any_kafka, {"topics": topics})
    assert (made.code, {row[-1] for row in results(made)}) == (0, {"done"}), made
    for name, count, config in ((there, 4, "retention.ms=86400000"), (new, 3, "cleanup.policy=compact")):
        described = tool(any_kafka, "TopicCommand", "--describe", "--topic", name)
        assert re.search(rf"PartitionCount: {count}\b", described), described
        assert config in described
    assert apply(any_kafka, {"topics": topics}, "--diff").code == 0
    tool(any_kafka, "TopicCommand", "--alter", "--topic", new, "--partitions", "5")
    exported = run(any_kafka, "apply", "--export", "--output", "json")
    found = {topic["name"]: topic for topic in json.loads(exported.stdout)["topics"]}
    assert found[new] == {
        "name": new,
        "partitions": 5,
        "replication_factor": 1,
        "configs": {"cleanup.policy": "compact"},
    }
    yaml = run(any_kafka, "apply", "--export")
    again = kctl("apply", "-f", "-", "--prune", "--diff", "-b", any_kafka.bootstrap(), stdin=yaml.stdout)
    assert (again.code, again.stdout) == (0, b""), again
    pruned = {"topics": [topic for name, topic in found.items() if name != new]}
    shown = apply(any_kafka, pruned, "--prune")
    assert (shown.code, results(shown)) == (0, [("delete", None, "would be done")])
    assert new in tool(any_kafka, "TopicCommand", "--list")
    assert results(apply(any_kafka, pruned, "--prune", "--yes")) == [("delete", None, "done")]
    assert new not in tool(any_kafka, "TopicCommand", "--list")


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"partitions": 1}, "partitions cannot be removed"),
        ({"replication_factor": 2}, "replication factor 1, but the file declares 2"),
        ({"configs": {"retention.ms": "soon"}}, "retention.ms"),
        ({"configs": {"no.such": 1}}, "no.such"),
    ],
)
def test_impossible_declaration_changes_nothing(any_kafka: KafkaCluster, wanted: dict[str, object], says: str) -> None:
    topic = any_kafka.create_topic(partitions=2)
    topics = [{"name": f"{topic}-other"}, {"name": topic, "partitions": 3, **wanted}]
    ended = apply(any_kafka, {"topics": topics})
    assert (ended.code, says in ended.stderr, "nothing was changed" in ended.stderr) == (2, True, True), ended
    assert run(any_kafka, "topics", "describe", f"{topic}-other").code == 23
    assert len(rows(any_kafka, "topics", "describe", topic)) == 2


ROUNDS = 20


def test_applied_changes_are_no_difference_on_any_of_three_brokers(kafka_three: KafkaCluster) -> None:
    prefix = kafka_three.create_topic()
    topics: list[dict[str, Any]] = []
    for number in range(ROUNDS):
        for topic in topics[-1:]:
            topic.update(partitions=3, configs={"retention.ms": 86400000 + number})
        topics.append({"name": f"{prefix}-{number}", "partitions": 2, "configs": {"cleanup.policy": "compact"}})
        made, differs = apply(kafka_three, {"topics": topics}), apply(kafka_three, {"topics": topics}, "--diff")
        assert made.code == 0, (number, made)
        if "note: " not in made.stderr:  # of a broker that is too slow to wait for
            assert differs.code == 0, (number, made, differs)
        wait_until(
            lambda: apply(kafka_three, {"topics": topics}, "--diff").code == 0,
            PATIENCE_MS,
            "no difference on any broker",
        )
    assert run(kafka_three, "topics", "delete", *(topic["name"] for topic in topics), "--yes").code == 0


@pytest.mark.nightly
def test_interrupted_apply_says_what_was_done_and_its_command_does_the_rest(
    kafka_newest: KafkaCluster, tmp_path: Path
) -> None:
    prefix, path = kafka_newest.create_topic(), tmp_path / "topics.json"
    names = [f"{prefix}-{number}" for number in range(250)]
    path.write_text(json.dumps({"topics": [{"name": name, "partitions": 1} for name in names]}))
    node = kafka_newest.node(1)
    try:
        with running("apply", "-f", str(path), "-b", kafka_newest.bootstrap(), "--output", "json") as process:
            assert process.stderr is not None
            while f"+ topic {names[-1]} ".encode() not in process.stderr.readline():
                pass
            node.freeze()
            ended = end(process, signal.SIGINT)
    finally:
        node.thaw()
    rows = json.loads(ended.stdout)["rows"]
    results = [row["result"] for row in rows]
    done, unknown = results.count("done"), results.count("unknown")
    assert (ended.code, len(rows), set(results) <= {"done", "unknown", "not done"}) == (130, 250, True), ended
    assert f"{done} of 250 changes made" in ended.stderr
    assert f"hint: apply the remaining changes with: kctl apply -f {path}" in ended.stderr
    again = run(kafka_newest, "apply", "-f", str(path), "--output", "json")
    assert again.code == 0, again
    assert 250 - done - unknown <= len(json.loads(again.stdout)["rows"]) <= 250 - done
    wait_until(  # a broker hears of new topics a moment after the controller has made them
        lambda: run(kafka_newest, "apply", "-f", str(path), "--diff").code == 0, PATIENCE_MS, "the topics on the broker"
    )
    assert run(kafka_newest, "topics", "delete", *names, "--yes").code == 0


@pytest.mark.nightly
def test_trimmed_records_and_offsets_are_those_of_java(any_kafka: KafkaCluster, tmp_path: Path) -> None:
    topic = any_kafka.create_topic()
    fill(any_kafka, topic, 10)
    assert rows(any_kafka, "topics", "offsets", topic)[0] | {"start": 0, "end": 10, "records": 10} == {
        "topic": topic, "partition": 0, "start": 0, "end": 10, "records": 10
    }  # fmt: skip
    newest = run(any_kafka, "topics", "offsets", topic, "--at", "max-timestamp", "--output", "json")
    if any_kafka.version.startswith("2."):
        assert (newest.code, "ListOffsets" in newest.stderr) == (15, True), newest
    else:
        assert json.loads(newest.stdout)["rows"][0]["offset"] in range(10)
    dry = run(any_kafka, "topics", "trim", topic, "--before", "4")
    assert (dry.code, "10" in tool(any_kafka, "GetOffsetShell", "--topic", topic)) == (0, True), dry
    assert rows(any_kafka, "topics", "trim", topic, "--before", "4", "--yes")[0]["result"] == "deleted"
    assert f"{topic}:0:4" in tool(any_kafka, "GetOffsetShell", "--topic", topic, "--time", "-2")
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 7}]}))
    tool(any_kafka, "DeleteRecordsCommand", "--offset-json-file", str(path))
    assert rows(any_kafka, "topics", "offsets", topic, "--at", "start")[0]["offset"] == 7
    assert rows(any_kafka, "topics", "offsets", topic, "--at", "end")[0]["offset"] == 10
    assert rows(any_kafka, "topics", "offsets", topic, "--at", "@-1h")[0]["offset"] == 7
    for word, code in (("no-such-topic", 23), (f"{topic}:9", 23)):
        assert run(any_kafka, "topics", "trim", word, "--before", "1", "--yes").code == code


@pytest.mark.nightly
def test_sizes_are_those_of_java(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic()
    fill(any_kafka, topic, 50)
    [row] = rows(any_kafka, "topics", "describe", topic, "--size")
    text = tool(any_kafka, "LogDirsCommand", "--describe", "--topic-list", topic)
    found = json.loads(text[text.index("{") :])
    [folder] = [each for each in found["brokers"][0]["logDirs"] if each["partitions"]]
    assert (row["bytes"], row["log_dir"]) == (folder["partitions"][0]["size"], folder["logDir"])
    disks = rows(any_kafka, "brokers", "disks")
    assert row["log_dir"] in {each["log_dir"] for each in disks}
    is_old = any_kafka.version.startswith("2.")
    assert all((each["usable_bytes"] is None) is is_old for each in disks)
    assert run(any_kafka, "brokers", "disks", "9").code == 23


def test_cluster_and_quorum_are_those_of_java(any_kafka: KafkaCluster) -> None:
    described = run(any_kafka, "cluster", "describe", "--output", "json")
    assert (described.code, len(json.loads(described.stdout)["rows"])) == (0, 1), described
    quorum = run(any_kafka, "cluster", "quorum", "--output", "json")
    if any_kafka.version.startswith("2."):
        assert (quorum.code, "DescribeQuorum" in quorum.stderr) == (15, True), quorum
        return
    text = tool(any_kafka, "MetadataQuorumCommand", "describe", "--status")
    leader = re.search(r"LeaderId:\s+(\d+)", text)
    assert leader is not None
    assert json.loads(quorum.stdout)["leader_id"] == int(leader[1])


def test_wait_ends_when_it_is_so_or_names_what_is_missing(any_kafka: KafkaCluster) -> None:
    topic = any_kafka.create_topic(partitions=2)
    assert run(any_kafka, "wait", "topic", topic, "--partitions", "2", "--in-sync").code == 0
    assert run(any_kafka, "wait", "brokers", "1").code == 0
    short = run(any_kafka, "wait", "topic", topic, "--partitions", "3", "--api-timeout", "1s")
    assert (short.code, f"topic {topic} has 2 of 3 partitions" in short.stderr) == (17, True), short
    few = run(any_kafka, "wait", "brokers", "2", "--api-timeout", "1s")
    assert (few.code, "1 of 2 brokers are up" in few.stderr) == (17, True), few
    group = run(any_kafka, "wait", "group", "no-such-group", "--api-timeout", "1s")
    assert (group.code, "the group does not exist" in group.stderr) == (17, True), group
    assert run(any_kafka, "topics", "delete", topic, "--yes").code == 0
    assert run(any_kafka, "wait", "topic", topic, "--gone").code == 0
