"""Other people's tools operate the sandbox: ACLs, SCRAM users, quotas, configs, moves, elections, offsets.

Kafka's own command-line tools in one process, franz-go's kadm, confluent-kafka and kafka-python; each sees what it
wrote, and so does kctl.
"""

import hashlib
import importlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.client import Admin, Producer
from kctl.client.cluster import TopicPartition
from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign.client import run_bounded
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import (
    NEWEST_KAFKA,
    ToolMissing,
    cached,
    compiled_class_path,
    find_tool,
    java_command,
)

pytestmark = pytest.mark.nightly

WAIT_S = 60
JAVA = Path(__file__).parent / "java" / "ToolRunner.java"
KADM = Path(__file__).parent / "go" / "kadm"
ACLS, CONFIGS = "org.apache.kafka.tools.AclCommand", "kafka.admin.ConfigCommand"
MOVES = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
confluent: Any = importlib.import_module("confluent_kafka.admin")
"""Its types hide what it exports."""


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    settings = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
    with Sandbox(nodes=3, settings=settings).serve() as served:
        served.sandbox.create_topic("t", 2, 2)
        yield served


def offset_of(served: ServedSandbox, group: str) -> int | None:
    """Return what a group has committed for t-0, as kctl sees it."""
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        found = admin.list_group_offsets(group).done.get(TopicPartition("t", 0))
    return None if found is None else found.offset


def test_java_tools_operate_the_sandbox(served: ServedSandbox, tmp_path: Path) -> None:
    with Producer({"bootstrap.servers": served.bootstrap}) as producer:
        for _ in range(5):
            producer.send("t", b"x", partition=0)
    partition = served.sandbox.cluster.topics["t"].partitions[0]
    first, second = partition.replicas
    (third,) = {1, 2, 3} - {first, second}
    plan, election = tmp_path / "plan.json", tmp_path / "election.json"
    move = {"topic": "t", "partition": 0, "replicas": [third, first]}
    plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
    election.write_text(json.dumps({"partitions": [{"topic": "t", "partition": 0}]}))
    rule = (
        "--allow-principal",
        "User:bob",
        "--operation",
        "Read",
        "--topic",
        "t",
        "--resource-pattern-type",
        "prefixed",
    )
    user, quota = ("--entity-type", "users", "--entity-name", "alice"), "producer_byte_rate=2048"
    of_group = ("--entity-type", "groups", "--entity-name", "g")
    reset = ("--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--execute")
    place = str(served.sandbox.cluster.groups.topic.index_of("g"))
    reading = ("--topic", "__consumer_offsets", "--partition", place, "--offset", "earliest", "--max-messages", "2")
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    steps: list[tuple[str, ...]] = [
        (ACLS, "--add", *rule),
        (ACLS, "--list", "--principal", "User:bob"),
        (ACLS, "--remove", "--force", *rule),
        (CONFIGS, "--alter", *user, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=x]"),
        (CONFIGS, "--alter", *user, "--add-config", quota),
        (CONFIGS, "--describe", *user),
        (CONFIGS, "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.threads=2"),
        (CONFIGS, "--describe", "--entity-type", "brokers", "--entity-default"),
        (CONFIGS, "--alter", *of_group, "--add-config", "share.session.timeout.ms=50000"),
        (CONFIGS, "--describe", *of_group),
        (MOVES, "--execute", "--reassignment-json-file", str(plan), "--throttle", "1000000"),
        (GROUPS, *reset),
        (CONSUMER, *reading, *formatter),
        (MOVES, "--verify", "--reassignment-json-file", str(plan)),
        (ELECT, "--election-type", "preferred", "--path-to-json-file", str(election)),
    ]  # fmt: skip
    outcomes = dict(zip(steps, _java_tools(served, steps), strict=True))
    assert [code for code, _ in outcomes.values()] == [0] * len(steps), outcomes
    texts = [text for _, text in outcomes.values()]
    assert "(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)" in texts[1]
    assert "SCRAM-SHA-256=iterations=4096" in texts[5]
    assert "producer_byte_rate=2048.0" in texts[5]
    assert "log.cleaner.threads=2" in texts[7]
    assert "share.session.timeout.ms=50000" in texts[9]
    assert "Successfully started partition reassignment for t-0" in texts[10]
    key, value = '{"type":1,"data":{"group":"g","topic":"t","partition":0}}', '{"version":4,"data":{"offset":0,'
    assert f'{{"key":{key},"value":{value}' in texts[12]
    assert "Reassignment of partition t-0 is completed" in texts[13]
    assert "Successfully completed leader election" in texts[14]
    assert (partition.replicas, partition.leader_id) == ((third, first), third)
    assert offset_of(served, "g") == 0


def _java_tools(served: ServedSandbox, steps: list[tuple[str, ...]]) -> list[tuple[int, str]]:
    """Return the exit code and the output of each tool."""
    path = have(lambda: compiled_class_path(JAVA, NEWEST_KAFKA))
    lines = "".join("\t".join((tool, "--bootstrap-server", served.bootstrap, *words)) + "\n" for tool, *words in steps)
    output = run_bounded("Kafka's tools", java_command(path, "ToolRunner"), lines.encode(), WAIT_S).decode()
    found, text = [], ""
    for line in output.splitlines():
        if line.startswith("==== "):
            found.append((int(line[5:]), text))
            text = ""
        else:
            text += line + "\n"
    return found


def _kadm() -> Path:
    """Return the program on kadm, built the first time."""
    digest = hashlib.sha256((KADM / "main.go").read_bytes() + (KADM / "go.sum").read_bytes()).hexdigest()[:16]

    def build(folder: Path) -> None:
        go = find_tool("go", "golang")
        built = subprocess.run([go, "build", "-o", str(folder / "kadm"), "."], cwd=KADM, capture_output=True, text=True)
        if built.returncode:
            raise ToolMissing(f"go build of kadm: {built.stderr[-300:]}")

    return cached(f"kadm-{digest}", build) / "kadm"


def test_kadm_operates_the_sandbox(served: ServedSandbox) -> None:
    served.sandbox.cluster.delete_topic("t")
    try:  # Go is no part of what kctl needs, nor of what .ci/run installs: without it this peer is left out
        program = _kadm()
    except ToolMissing as error:
        pytest.skip(str(error))
    lines = run_bounded("kadm", [str(program), served.bootstrap], b"", WAIT_S).decode().splitlines()
    found = {step["step"]: step["found"] for step in map(json.loads, lines)}
    assert found == {
        "topic": 2,
        "acls created": 1,
        "acls": ["User:bob READ TOPIC t PREFIXED"],
        "acls deleted": 1,
        "users": "[SCRAM-SHA-256=iterations=5000]",
        "users left": 0,
        "quotas": "[producer_byte_rate=2048.000000]",
        "moving": True,
        "moved to": found["moved to"],
        "elected": True,
        "configs": ["retention.ms=1000"],
        "committed": 7,
    }
    assert found["moved to"] in served.sandbox.cluster.topics["t"].partitions[0].replicas
    assert offset_of(served, "g") == 7


def test_confluent_admin_operates_the_sandbox(served: ServedSandbox) -> None:
    admin = confluent.AdminClient({"bootstrap.servers": served.bootstrap})
    rule = confluent.AclBinding(
        confluent.ResourceType.TOPIC,
        "t",
        confluent.ResourcePatternType.PREFIXED,
        "User:bob",
        "*",
        confluent.AclOperation.READ,
        confluent.AclPermissionType.ALLOW,
    )
    admin.create_acls([rule])[rule].result(WAIT_S)
    every = confluent.AclBindingFilter(
        confluent.ResourceType.ANY,
        None,
        confluent.ResourcePatternType.ANY,
        None,
        None,
        confluent.AclOperation.ANY,
        confluent.AclPermissionType.ANY,
    )
    assert admin.describe_acls(every).result(WAIT_S) == [rule]
    assert admin.delete_acls([every])[every].result(WAIT_S) == [rule]
    info = confluent.ScramCredentialInfo(confluent.ScramMechanism.SCRAM_SHA_256, 4096)
    upsert = confluent.UserScramCredentialUpsertion("alice", info, b"secret", b"salt")
    admin.alter_user_scram_credentials([upsert])["alice"].result(WAIT_S)
    (found,) = admin.describe_user_scram_credentials(["alice"])["alice"].result(WAIT_S).scram_credential_infos
    assert (found.mechanism, found.iterations) == (confluent.ScramMechanism.SCRAM_SHA_256, 4096)
    topics = admin.describe_topics(importlib.import_module("confluent_kafka").TopicCollection(["t"]))["t"].result(
        WAIT_S
    )
    assert [len(one.replicas) for one in topics.partitions] == [2, 2]
    served.sandbox.move_leader("t", 0, served.sandbox.cluster.topics["t"].partitions[0].replicas[1])
    place = importlib.import_module("confluent_kafka").TopicPartition("t", 0)
    (outcome,) = (
        admin.elect_leaders(importlib.import_module("confluent_kafka").ElectionType.PREFERRED, [place])
        .result(WAIT_S)
        .values()
    )
    assert outcome is None
    assert "__consumer_offsets" not in admin.list_topics(timeout=WAIT_S).topics


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_admin_operates_the_sandbox(served: ServedSandbox) -> None:
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        KafkaAdminClient,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )
    from kafka.structs import TopicPartition as Partition

    admin = KafkaAdminClient(bootstrap_servers=served.bootstrap.split(","))
    try:
        pattern = ResourcePattern(ResourceType.TOPIC, "t")
        rule = ACL("User:bob", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)
        assert len(admin.create_acls([rule])["succeeded"]) == 1
        every = ACLFilter(
            None,
            None,
            ACLOperation.ANY,
            ACLPermissionType.ANY,
            ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
        )
        found, error = admin.describe_acls(every)
        assert (len(found), error.errno) == (1, 0)
        upsert = UserScramCredentialUpsertion("alice", ScramMechanism.SCRAM_SHA_256, "secret", 4096)
        assert admin.alter_user_scram_credentials([upsert]) == {"alice": None}
        assert "alice" in str(admin.describe_user_scram_credentials(["alice"]))
        partition = served.sandbox.cluster.topics["t"].partitions[0]
        first, second = partition.replicas
        (third,) = {1, 2, 3} - {first, second}
        admin.alter_partition_reassignments({Partition("t", 0): [third, first]})
        assert admin.list_partition_reassignments()
    finally:
        admin.close()
