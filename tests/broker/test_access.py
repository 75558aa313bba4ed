"""ACLs, SCRAM users and quotas on real Kafka with an authorizer: each command, each refusal, and Kafka's own tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import SINGLE_VERSIONS
from tests.support.kafka.requirements import have
from tests.support.kafka.security import SCRAM_MECHANISMS

CANARY = "canary-9f86d081"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
WITH_ZOOKEEPER = "kafka.security.authorizer.AclAuthorizer"


@pytest.fixture(scope="module", params=SINGLE_VERSIONS)
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A node that enforces ACLs; who is not authenticated may do everything."""
    version: str = request.param
    authorizer = WITH_ZOOKEEPER if version.startswith("2.") else STANDARD
    properties = {"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}
    with have(lambda: KafkaCluster(version, broker_properties=properties)) as cluster:
        yield cluster


def run(kafka: KafkaCluster, *words: str) -> Ended:
    ended = kctl(*words, "-b", kafka.bootstrap())
    assert CANARY not in ended.stdout.decode() + ended.stderr
    return ended


def rows(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = run(kafka, *words, "--output", "json")
    assert (ended.code, ended.stderr) == (0, ""), ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def tool(kafka: KafkaCluster, name: str, *words: str) -> str:
    """Run Kafka's own tool of this version."""
    main = {"acls": "kafka.admin.AclCommand", "configs": "kafka.admin.ConfigCommand"}[name]
    if name == "acls" and kafka.version.startswith("4."):
        main = "org.apache.kafka.tools.AclCommand"
    return kafka.run_tool(main, "--bootstrap-server", kafka.bootstrap(), *words)


def login(kafka: KafkaCluster, folder: Path, user: str, mechanism: str) -> tuple[str, ...]:
    path = folder / f"{user}.properties"
    path.write_text(
        f"bootstrap.servers={kafka.bootstrap('SASL_PLAINTEXT')}\nsecurity.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={MODULE} required username="{user}" password="{CANARY}";\n'
    )
    return "--command-config", str(path)


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text(f"{CANARY}\n")
    return str(path)


def test_rules_are_what_the_tool_of_kafka_sees_and_the_other_way_round(kafka: KafkaCluster) -> None:
    rule = ("--allow", "User:java", "--operation", "read", "--topic", "acl-orders")
    assert run(kafka, "acls", "create", *rule).code == 0
    denied = ("--deny", "User:java", "--operation", "alter-configs", "--topic", "acl-", "--prefixed")
    assert run(kafka, "acls", "create", *denied, "--host", "10.0.0.1").code == 0
    seen = tool(kafka, "acls", "--list", "--principal", "User:java")
    assert "resourceType=TOPIC, name=acl-orders, patternType=LITERAL" in seen
    assert "principal=User:java, host=*, operation=READ, permissionType=ALLOW" in seen
    assert "principal=User:java, host=10.0.0.1, operation=ALTER_CONFIGS, permissionType=DENY" in seen
    tool(kafka, "acls", "--add", "--allow-principal", "User:java", "--operation", "Read", "--group", "acl-g")
    found = {
        (row["permission"], row["operation"], row["resource"])
        for row in rows(kafka, "acls", "list", "--principal", "java")
    }
    assert found == {("allow", "read", "acl-orders"), ("deny", "alter-configs", "acl-"), ("allow", "read", "acl-g")}
    assert len(rows(kafka, "acls", "delete", "--principal", "java", "--yes")) == 3
    assert rows(kafka, "acls", "list", "--principal", "java") == []
    assert "User:java" not in tool(kafka, "acls", "--list")


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_new_user_is_allowed_what_the_check_says(
    kafka: KafkaCluster, tmp_path: Path, password_file: str, mechanism: str
) -> None:
    user, topic = f"u-{mechanism.lower()}", kafka.create_topic(f"acl-{mechanism.lower()}")
    assert run(kafka, "users", "create", user, "--password-file", password_file, "--mechanism", mechanism).code == 0
    me = login(kafka, tmp_path, user, mechanism)

    def consumes() -> int:
        return kctl("consume", topic, "-e", *me).code

    def check() -> int:
        return run(kafka, "acls", "check", user, "--topic", topic, "--operation", "read").code

    def refused(*words: str) -> bool:
        return kctl(*words, *me).code == ExitCode.NOT_AUTHORISED

    assert (consumes(), check()) == (ExitCode.NOT_AUTHORISED, ExitCode.DEGRADED)
    assert refused("acls", "list")
    assert refused("acls", "create", "--allow", user, "--operation", "read", "--topic", topic)
    assert refused("users", "list")
    assert refused("quotas", "set", "--user", user, "producer_byte_rate=1")
    assert run(kafka, "acls", "create", "--allow", user, "--operation", "read", "--topic", topic).code == 0
    assert (consumes(), check()) == (0, 0)
    assert run(kafka, "acls", "create", "--deny", "User:*", "--operation", "all", "--topic", topic).code == 0
    assert (consumes(), check()) == (ExitCode.NOT_AUTHORISED, ExitCode.DEGRADED)
    assert run(kafka, "acls", "delete", "--topic", topic, "--yes").code == 0
    assert run(kafka, "users", "delete", user, "--yes").code == 0
    assert consumes() == ExitCode.AUTHENTICATION


def test_users_are_what_the_tool_of_kafka_sees(kafka: KafkaCluster, password_file: str) -> None:
    assert (
        run(kafka, "users", "create", "scram-ann", "--password-file", password_file, "--iterations", "8192").code == 0
    )
    seen = tool(kafka, "configs", "--describe", "--entity-type", "users", "--entity-name", "scram-ann")
    assert "SCRAM-SHA-256=iterations=8192" in seen
    assert "SCRAM-SHA-512=iterations=8192" in seen
    secret = "SCRAM-SHA-256=[iterations=4097,password=other]"
    words = ("--alter", "--add-config", secret, "--entity-type", "users", "--entity-name", "scram-bob")
    tool(kafka, "configs", *words)
    assert [(row["mechanism"], row["iterations"]) for row in rows(kafka, "users", "list", "scram-bob")] == [
        ("SCRAM-SHA-256", 4097)
    ]
    assert run(kafka, "users", "create", "scram-bob", "--password-file", password_file).code == ExitCode.USAGE
    assert run(kafka, "users", "alter", "scram-bob", "--password-file", password_file).code == 0
    assert run(kafka, "users", "delete", "scram-ann", "scram-bob", "--yes").code == 0
    assert run(kafka, "users", "list", "scram-ann").code == ExitCode.UNKNOWN_RESOURCE
    assert run(kafka, "users", "delete", "scram-ann", "--yes").code == ExitCode.UNKNOWN_RESOURCE


def test_quotas_are_what_the_tool_of_kafka_sees(kafka: KafkaCluster) -> None:
    words = ("--user", "quota-ann", "producer_byte_rate=1000", "request_percentage=12.5")
    assert run(kafka, "quotas", "set", *words).code == 0
    assert run(kafka, "quotas", "set", "--user", "quota-ann", "--client-id-default", "consumer_byte_rate=7").code == 0
    seen = tool(kafka, "configs", "--describe", "--entity-type", "users", "--entity-name", "quota-ann")
    assert "producer_byte_rate=1000.0" in seen
    assert "request_percentage=12.5" in seen
    change = (
        "--alter",
        "--add-config",
        "producer_byte_rate=5",
        "--entity-type",
        "clients",
        "--entity-name",
        "quota-app",
    )
    tool(kafka, "configs", *change)
    found = rows(kafka, "quotas", "describe", "--user", "quota-bob", "--client-id", "quota-app")
    assert [(row["key"], row["quota"], row["source"]) for row in found] == [
        ("producer_byte_rate", 5, "client-id quota-app")
    ]
    for pair in ("producer_byte_rate=0.5", "no_such_rate=1"):
        ended = run(kafka, "quotas", "set", "--user", "quota-ann", pair, "--dry-run")
        assert ended.code in (ExitCode.USAGE, 0 if kafka.with_zookeeper and pair.startswith("prod") else ExitCode.USAGE)
    assert run(kafka, "quotas", "unset", "--user", "quota-ann", "producer_byte_rate", "request_percentage").code == 0
    assert run(kafka, "quotas", "unset", "--client-id", "quota-app", "producer_byte_rate").code == 0
    assert [(row["client_id"], row["key"]) for row in rows(kafka, "quotas", "list", "--user", "quota-ann")] == [
        ("<default>", "consumer_byte_rate")
    ]
