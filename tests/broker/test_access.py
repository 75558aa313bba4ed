"""ACLs, SCRAM users and quotas on real Kafka with an authorizer: each command, each refusal, and Kafka's own tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.acls import CLUSTER_NAME
from kctl.client.admin import AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.producer import Producer
from kctl.why import Scope, Selection, diagnose
from tests.broker.why_story import NOTICED_MS, KafkaStory
from tests.cli.processes import Ended, kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import GUEST, SCRAM_MECHANISMS
from tests.support.kafka.toolchain import NEWEST_KAFKA
from tests.support.kafka.waiting import wait_until
from tests.support.scenarios.exact_words import run_exact_words

CANARY = "canary-9f86d081"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def kafka(any_kafka: KafkaCluster) -> KafkaCluster:
    """A node that enforces ACLs; a client that does not authenticate may do everything."""
    return any_kafka


def run(kafka: KafkaCluster, *words: str) -> Ended:
    ended = kctl(*words, "-b", kafka.bootstrap())
    assert CANARY not in ended.stdout.decode() + ended.stderr
    return ended


def rows(kafka: KafkaCluster, *words: str) -> list[dict[str, Any]]:
    ended = run(kafka, *words, "--output", "json")
    assert (ended.code, ended.stderr) == (0, ""), ended
    return rows_of(ended)


def rows_of(ended: Ended) -> list[dict[str, Any]]:
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


@pytest.mark.nightly
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
        return kctl(*words, *me).code == ExitCode.NOT_AUTHORIZED

    assert (consumes(), check()) == (ExitCode.NOT_AUTHORIZED, ExitCode.PARTIAL_FAILURE)
    assert refused("acls", "list")
    assert refused("acls", "create", "--allow", user, "--operation", "read", "--topic", topic)
    assert refused("users", "list")
    assert refused("quotas", "set", "--user", user, "producer_byte_rate=1")
    assert run(kafka, "acls", "create", "--allow", user, "--operation", "read", "--topic", topic).code == 0
    assert (consumes(), check()) == (0, 0)
    assert run(kafka, "acls", "create", "--deny", "User:*", "--operation", "all", "--topic", topic).code == 0
    assert (consumes(), check()) == (ExitCode.NOT_AUTHORIZED, ExitCode.PARTIAL_FAILURE)
    assert run(kafka, "acls", "delete", "--topic", topic, "--yes").code == 0
    assert run(kafka, "users", "delete", user, "--yes").code == 0
    assert consumes() == ExitCode.AUTHENTICATION


REFUSED = (
    "configs set topic {topic} retention.ms=1",
    "topics alter {topic} --partitions 9",
    "topics trim {topic} --before 0 --yes",
    "topics delete {topic} --yes",
    "partitions elect {topic} --yes",
    "partitions move {plan}",
    "apply -f {declaration}",
    "groups reset-offsets {group} --to-earliest --execute",
    "groups delete-offsets {group} --topic {topic} --execute",
    "groups delete {group} --execute",
    "brokers log-dirs",
    "topics create {topic}-new",
    "partitions plan {topic} --to-brokers 1",
    "users create mallory --password-file {password}",
    "users alter eve --password-file {password}",
    "quotas list",
    "quotas set --user eve producer_byte_rate=1",
    "api CreateAcls {rule} --execute",
)
"""What a user without rights must not do and see, beside access itself."""
RULE_OF_EVE = (
    '{"Creations":[{"ResourceType":2,"ResourceName":"*","ResourcePatternType":3,"Principal":"User:eve","Host":"*",'
    '"Operation":2,"PermissionType":3}]}'
)
REFUSED_SINCE_3_0 = ("transactions describe {transaction}", "transactions abort {topic}:0 --start-offset 0 --execute")


def test_commands_of_a_user_without_rights_end_with_22(kafka: KafkaCluster, tmp_path: Path, password_file: str) -> None:
    topic = kafka.create_topic()
    plan, declaration = tmp_path / "plan.json", tmp_path / "topics.yaml"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [1]}]}))
    declaration.write_text(f"topics: [{{name: {topic}, configs: {{retention.ms: 5}}}}]")
    names = {"topic": topic, "group": f"{topic}-g", "transaction": f"{topic}-t"}
    assert run(kafka, "users", "create", "eve", "--password-file", password_file).code == 0
    with (
        KafkaStory(kafka) as super_user,
        Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": names["transaction"]}) as producer,
    ):
        super_user.commit(names["group"], topic, 0)
        producer.init_transactions(timeout=60)
        producer.begin_transaction()
        producer.send(topic, b"x").result(30)
        config = login(kafka, tmp_path, "eve", "SCRAM-SHA-256")
        wait_until(lambda: kctl("cluster", "describe", *config).code == 0, bound(10_000), "the new user on the broker")
        wanted = REFUSED if kafka.version.startswith("2.") else REFUSED + REFUSED_SINCE_3_0
        names |= {"plan": str(plan), "declaration": str(declaration), "password": password_file, "rule": RULE_OF_EVE}
        ended = {words: kctl(*words.format(**names).split(), *config) for words in wanted}
        listed = kctl("transactions", "list", *config)
        producer.abort_transaction(timeout=30)
    if wanted is not REFUSED:  # Kafka leaves out what a user may not see, and reports no error
        assert (listed.code, names["transaction"].encode() in listed.stdout) == (0, False), listed
    codes = {words: each.code for words, each in ended.items()}
    assert codes == dict.fromkeys(wanted, ExitCode.NOT_AUTHORIZED), ended
    assert all("hint: " in each.stderr for each in ended.values()), ended
    assert len(rows(kafka, "topics", "describe", topic)) == 1
    assert [row["group"] for row in rows(kafka, "groups", "list") if row["group"] == names["group"]]


def test_rules_of_a_file_are_what_the_tool_of_kafka_sees_and_applied_once(kafka: KafkaCluster, tmp_path: Path) -> None:
    topic, path = kafka.create_topic(), tmp_path / "access.yaml"
    path.write_text(
        "acls:\n"
        f"- {{principal: 'User:file', operation: read, resource_type: topic, name: {topic}}}\n"
        f"- {{principal: 'User:file', operation: write, resource_type: topic, name: {topic}-, pattern: prefixed,"
        " permission: deny, host: 10.0.0.1}\n"
    )
    assert run(kafka, "apply", "-f", str(path), "--diff").code == ExitCode.PARTIAL_FAILURE
    made = rows_of(run(kafka, "apply", "-f", str(path), "--output", "json"))
    assert [(row["action"], row["result"]) for row in made] == [("create", "done")] * 2
    found = {
        tuple(row[key] for key in ("permission", "operation", "resource", "pattern", "host"))
        for row in rows(kafka, "acls", "list", "--principal", "file")
    }
    assert found == {
        ("allow", "read", topic, "literal", "*"),
        ("deny", "write", f"{topic}-", "prefixed", "10.0.0.1"),
    }
    seen = tool(kafka, "acls", "--list", "--principal", "User:file")
    assert f"resourceType=TOPIC, name={topic}, patternType=LITERAL" in seen
    assert f"resourceType=TOPIC, name={topic}-, patternType=PREFIXED" in seen
    assert "principal=User:file, host=10.0.0.1, operation=WRITE, permissionType=DENY" in seen
    assert run(kafka, "apply", "-f", str(path), "--diff").code == 0
    again = run(kafka, "apply", "-f", str(path), "--output", "json")
    assert (again.code, rows_of(again), "no changes needed" in again.stderr) == (0, [], True), again
    assert len(rows(kafka, "acls", "delete", "--principal", "file", "--yes")) == 2


def test_each_line_of_a_runbook_has_its_exit_code(kafka: KafkaCluster, tmp_path: Path) -> None:
    if kafka.version != NEWEST_KAFKA:
        pytest.skip("older brokers lack some of these APIs")
    run_exact_words(lambda *words: run(kafka, *words), "runbook", tmp_path)


@pytest.mark.parametrize(
    "words",
    ["list", "create --allow ann --operation read --topic t", "delete --topic t --yes", "check ann --topic t"],
)
def test_broker_without_an_authorizer_is_named_with_what_to_set(kafka_three: KafkaCluster, words: str) -> None:
    ended = run(kafka_three, "acls", *words.split())
    assert (ended.code, "SECURITY_DISABLED" in ended.stderr) == (ExitCode.USAGE, True), ended
    assert "hint: set authorizer.class.name on all brokers and controllers, and restart them\n" in ended.stderr, ended


@pytest.mark.nightly
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


RIGHTS = {
    "Describe on the cluster": (AclResourceType.CLUSTER, AclOperation.DESCRIBE),
    "Describe on the topic __transaction_state": (AclResourceType.TOPIC, AclOperation.DESCRIBE),
    "DescribeConfigs on the cluster": (AclResourceType.CLUSTER, AclOperation.DESCRIBE_CONFIGS),
    "DescribeConfigs on the topic": (AclResourceType.TOPIC, AclOperation.DESCRIBE_CONFIGS),
    "Read on the topic": (AclResourceType.TOPIC, AclOperation.READ),
}
"""Permissions in the words of `kctl why`, without Describe on a selected topic or group."""
MOST_ROUNDS = 20


def test_why_names_each_right_that_is_missing_and_needs_no_other(kafka: KafkaCluster) -> None:
    """A look is repeated until it has no gap, each time with the rights that the one before has named."""
    topic, group = kafka.create_topic(), "why-rights"
    names = {AclResourceType.TOPIC: topic, AclResourceType.GROUP: group, AclResourceType.CLUSTER: CLUSTER_NAME}
    selection = Selection((group,), (topic,), has_brokers=True, has_ages=True)
    with (
        KafkaStory(kafka) as super_user,
        KafkaStory(kafka, **kafka.guest_properties()) as story,
        Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": topic}) as producer,
    ):

        def grant(kind: AclResourceType, operation: AclOperation, right: str = "") -> None:
            principal, name = f"User:{GUEST}", right.partition("__")[2]
            rule = AclRule(
                kind,
                f"__{name}" if name else names[kind],
                PatternType.LITERAL,
                principal,
                "*",
                operation,
                AclPermission.ALLOW,
            )
            super_user.admin.create_acls([rule]).raise_first()

        super_user.commit(group, topic, 0)
        producer.init_transactions(timeout=60)
        producer.begin_transaction()
        producer.send(topic, b"x").result(30)
        for kind in (AclResourceType.TOPIC, AclResourceType.GROUP):
            grant(kind, AclOperation.DESCRIBE)
        wait_until(lambda: story.admin.describe_topics([topic]).failed == {}, NOTICED_MS, "the rule of the topic")
        wait_until(lambda: story.admin.describe_groups([group]).failed == {}, NOTICED_MS, "the rule of the group")
        named: dict[str, set[str]] = {}
        for _ in range(MOST_ROUNDS):
            looks = story.looks(selection)
            assert "transaction-hanging" not in {each.id for each in diagnose(looks, tuple(Scope)).findings}
            refused = {each.request: each.right for each in looks.now.gaps if each.right is not None}
            if not refused:
                break
            for request, right in refused.items():
                grant(*RIGHTS[right], right)
                named.setdefault(right, set()).add(request)
        producer.abort_transaction(timeout=30)
    assert refused == {}
    old = {"Describe on the topic __transaction_state"} if kafka.version.startswith("2.") else set()
    assert named.keys() == RIGHTS.keys() - old


def test_running_transaction_of_a_hidden_id_is_undecided_and_not_aborted(kafka: KafkaCluster, tmp_path: Path) -> None:
    if kafka.version.startswith("2."):
        pytest.skip("brokers before 3.0 have no ListTransactions")
    topic = kafka.create_topic()
    mechanism, user = "SCRAM-SHA-256", "hidden-txn"
    password = tmp_path / "password"
    password.write_text(f"{CANARY}\n")
    assert run(kafka, "users", "create", user, "--password-file", str(password)).code == 0
    config = login(kafka, tmp_path, user, mechanism)
    for name in (topic, "__transaction_state"):
        words = ("--operation", "describe", "--operation", "read", "--topic", name)
        assert run(kafka, "acls", "create", "--allow", f"User:{user}", *words).code == 0
    assert run(kafka, "acls", "create", "--allow", f"User:{user}", "--operation", "alter", "--cluster").code == 0
    with Producer({"bootstrap.servers": kafka.bootstrap(), "transactional.id": topic}) as producer:
        producer.init_transactions(timeout=60)
        producer.begin_transaction()
        producer.send(topic, b"x").result(30)

        def listed(*words: str) -> Ended:
            return kctl("transactions", *words, *config)

        def verdicts() -> list[str]:
            ended = listed("hanging", "--topic", topic, "--output", "json")
            return [row["verdict"] for row in json.loads(ended.stdout or b'{"rows": []}')["rows"]]

        wait_until(lambda: verdicts() != [], NOTICED_MS, "the rules of the topic")
        assert verdicts() == ["undecided"]
        nothing = listed("abort", f"{topic}:0", "--execute")
        assert (nothing.code, f"no hanging transactions found on {topic}-0" in nothing.stderr) == (0, True), nothing
        refused = listed("abort", f"{topic}:0", "--start-offset", "0", "--execute")
        assert refused.code == ExitCode.UNAVAILABLE, refused
        assert "retry with permission to describe the transactional ID" in refused.stderr
        producer.commit_transaction(timeout=30)
