"""The eighteen incidents of an operator's first day: the cause, the fix, the exit code, and red until it is over."""

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import AclOperation, AclPermission, AclResourceType, AclRule, NewTopic, PatternType, QuotaEntity
from kctl.client.consumer.consumer import Consumer
from kctl.client.security.tls import server_context
from kctl.sandbox import ClusterSettings, Fault, ListenerSecurity
from kctl.sandbox.identity import SaslUsers
from tests.sim.kit import settle
from tests.sim.why.incident import INTERVAL, Live, Steps, incident
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have

_T = AclResourceType
PLAIN = "-X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=PLAIN -X sasl.username=ann"
FIRST = "-b 10.0.0.1:9092"
USERS = ListenerSecurity(users=SaslUsers({"ann": "secret"}))
OTHER_USERS = ListenerSecurity(users=SaslUsers({"ann": "other"}))
SCRAM_ALONE = ListenerSecurity(users=SaslUsers({"ann": "secret"}, ("SCRAM-SHA-256",)))
MEGABYTE = 1_000_000
ALL = AclRule(_T.TOPIC, "*", PatternType.LITERAL, "User:*", "*", AclOperation.ALL, AclPermission.ALLOW)
NO_CREATE = ALL._replace(resource_name="new", operation=AclOperation.CREATE, permission=AclPermission.DENY)


def move_leaders(story: Live, topic: str, away_from: int) -> None:
    for number, partition in story.sandbox.cluster.topics[topic].partitions.items():
        if partition.leader_id == away_from:
            story.sandbox.move_leader(topic, number, next(each for each in partition.replicas if each != away_from))


# --- brokers ----------------------------------------------------------------------------------------------------------


@incident("probe --connect-timeout 3s", "broker-unusable", "broker 2", "does not respond", fix="check the process")
def test_broker_that_is_frozen_stays_red_after_it_is_fenced(story: Live) -> Steps:
    story.create()
    yield
    story.sandbox.start_fault(2, Fault.FREEZE)
    yield
    move_leaders(story, "r", 2)
    story.sandbox.fence(2)
    yield
    story.sandbox.heal(2)


@incident("probe --connect-timeout 3s " + FIRST, "broker-unusable", "broker 2", fix="check the process")
def test_broker_that_is_fenced_is_red_if_it_is_no_bootstrap_server(story: Live) -> Steps:
    story.create()
    yield
    story.sandbox.start_fault(2, Fault.FREEZE)
    story.sandbox.fence(2)
    yield
    story.sandbox.heal(2)


@incident("why cluster", "broker-fenced", "broker 2 (10.0.0.2:9092) is fenced", fix="check that broker 2 is running")
def test_broker_that_is_down_and_fenced_is_found(story: Live) -> Steps:
    story.create()
    yield
    move_leaders(story, "r", 2)
    story.sandbox.start_fault(2, Fault.REFUSE)
    story.sandbox.start_fault(2, Fault.RESET_ON_REQUEST)
    story.sandbox.fence(2)
    yield
    story.sandbox.heal(2)


@incident(f"probe {FIRST}", "advertised-unusable", "broker 3 advertises kafka-3.invalid", fix="advertised.listeners")
def test_advertised_name_that_does_not_resolve_is_found(story: Live) -> Steps:
    yield
    story.sandbox.advertise(3, "kafka-3.invalid", 9092)
    yield
    story.sandbox.advertise(3, "10.0.0.3", 9092)


@incident("why cluster", "under-min-isr", "r-0 has 1 of 2 replicas in sync", fix="start broker 3")
def test_topic_under_min_isr_is_found(story: Live) -> Steps:
    story.create(partitions=1, replicas=2, min_insync_replicas="2")
    yield
    story.sandbox.hold_follower("r", 0, 3)
    yield
    story.sandbox.release_follower("r", 0, 3)


# --- connections ------------------------------------------------------------------------------------------------------


HOSTS = "IP:10.0.0.1,IP:10.0.0.2,IP:10.0.0.3"
Change = tuple[str, ListenerSecurity, ListenerSecurity]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return have(lambda: make_certificates(tmp_path_factory.mktemp("certificates"), HOSTS))


def trusting(ca: Path) -> str:
    """Return the options of a client that uses TLS and trusts an authority."""
    return f"-X security.protocol=SSL -X ssl.truststore.type=PEM -X ssl.truststore.location={ca}"


def tls(path: Path) -> ListenerSecurity:
    """Return the security of a broker with a certificate."""
    return ListenerSecurity(server_context(path.read_text()))


def changes(certificates: Certificates) -> dict[str, Change]:
    """Return by incident the options of the client, and the security of the brokers before and after."""
    trust = trusting(certificates.ca)
    nobody = ListenerSecurity()
    return {
        "password": (PLAIN, USERS, OTHER_USERS),
        "mechanism": (PLAIN, USERS, SCRAM_ALONE),
        "expired": (trust, tls(certificates.broker), tls(certificates.expired)),
        "plaintext port": (trust, tls(certificates.broker), nobody),
        "TLS port": ("", nobody, tls(certificates.broker)),
        "SASL port": ("", nobody, USERS),
    }


@pytest.mark.parametrize(
    ("change", "cause", "says", "fix", "code"),
    [
        ("password", "AuthenticationError", "Invalid username or password", "password", ExitCode.AUTHENTICATION),
        (
            "mechanism",
            "AuthenticationError",
            "does not support PLAIN (supported: SCRAM-SHA-256)",
            "SCRAM-SHA-256",
            ExitCode.AUTHENTICATION,
        ),
        ("expired", "CertificateExpired", "certificate expired", "renew", ExitCode.TLS),
        ("plaintext port", "TlsNotAnswered", "the listener does not use TLS", "PLAINTEXT", ExitCode.WRONG_PROTOCOL),
        ("TLS port", "WrongPeerError", "TLS listener", "SSL", ExitCode.WRONG_PROTOCOL),
        ("SASL port", "SaslRequired", "closed the connection on the first request", "use SASL, which", 14),
    ],
)
def test_listener_that_does_not_fit_the_client_is_named(
    change: str,
    cause: str,
    says: str,
    fix: str,
    code: int,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    options, before, after = changes(certificates)[change]

    @incident(f"topics list {options}", cause, says, fix=fix, code=code, security=before)
    def steps(story: Live) -> Steps:
        story.environ |= {"KCTL_SASL_PASSWORD": "secret"} if options == PLAIN else {}
        yield
        for node_id in story.sandbox.cluster.nodes:
            story.sandbox.secure(node_id, after)
        yield
        for node_id in story.sandbox.cluster.nodes:
            story.sandbox.secure(node_id, before)

    steps(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("certificate", "cause", "says", "fix"),
    [
        ("wrong_host", "certificate-name", "is for elsewhere.invalid, not for 10.0.0.2", "issue a certificate"),
        (
            "untrusted",
            "certificate-untrusted",
            "the client does not know issuer CN=kctl test stranger_ca",
            "ssl.truststore.location",
        ),
        ("expired", "certificate-expired", "certificate expired", "renew"),
    ],
)
@pytest.mark.parametrize("command", ["why cluster", "why topic r"])
def test_certificate_of_one_broker_that_clients_refuse_is_named(
    command: str,
    certificate: str,
    cause: str,
    says: str,
    fix: str,
    certificates: Certificates,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    good = tls(certificates.broker)
    found = cause if command == "why cluster" else "broker-unreachable"

    @incident(f"{command} {trusting(certificates.ca)}", found, says, fix=fix, security=good)
    def steps(story: Live) -> Steps:
        story.create()
        yield
        story.sandbox.secure(2, tls(getattr(certificates, certificate)))
        yield
        story.sandbox.secure(2, good)

    steps(monkeypatch, tmp_path)


@incident(
    "topics create new --if-not-exists",
    "TOPIC_AUTHORIZATION_FAILED",
    "cannot create topic new",
    fix="kctl acls create --allow",
    code=ExitCode.NOT_AUTHORIZED,
    settings=ClusterSettings(authorizer=True),
)
def test_request_that_an_acl_denies_names_the_acl_to_add(story: Live) -> Steps:
    story.sandbox.cluster.authorizer.create(ALL)
    yield
    story.sandbox.cluster.authorizer.create(NO_CREATE)
    yield
    story.sandbox.cluster.authorizer.delete([NO_CREATE])


# --- transactions, members and offsets --------------------------------------------------------------------------------


@incident(
    "why group g", "transaction-open", "transactional.id copier", "records after it", fix="check why the producer"
)
def test_transaction_that_stays_open_is_found_for_its_readers(story: Live) -> Steps:
    member = story.enter(story.sim.classic_member("g", isolation_level="read_committed"))
    settle(member)
    story.meanwhile(lambda: member.poll(0.5))
    story.arrive()
    yield
    producer = story.sim.producer({"transactional.id": "copier", "transaction.timeout.ms": "900000"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.flush()
    story.wait(120_000)
    yield
    producer.abort_transaction(timeout=10)
    producer.close()
    story.wait(10_000)


def committing(story: Live, member: Consumer, may_read: Callable[[], bool]) -> None:
    def read() -> None:
        member.poll(0.5)
        if may_read():
            member.commit_sync(timeout=5)

    story.meanwhile(read)


@incident(
    f"why group g {INTERVAL}",
    "group-stuck",
    "Member app-1 (",
    "Other members of the group are not stuck",
    fix="restart the client",
)
def test_member_that_commits_nothing_is_found(story: Live) -> Steps:
    reads = [True]
    for number in (1, 2):
        member = story.enter(story.sim.classic_member("g", client_id=f"app-{number}", enable_auto_commit=False))
        committing(story, member, lambda number=number: number == 2 or reads[-1])  # type: ignore[misc]
    story.arrive()
    story.wait(20_000)
    yield
    reads.append(False)
    story.wait(20_000)
    yield
    reads.append(True)
    story.wait(5_000)


@incident(
    f"why group g {INTERVAL}",
    "group-stuck",
    "The member made progress on 1 other partition",
    fix="kctl consume t -p 0 -o ",
)
def test_record_that_a_member_does_not_get_past_is_shown_and_skipped(story: Live) -> Steps:
    poison = [-1]
    member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))

    def read() -> None:
        member.poll(0.5)
        offsets = {tp: at for tp in member.assignment if (at := member.position(tp)) is not None}
        if poison[-1] >= 0:
            offsets = {tp: min(at, poison[-1]) if tp.partition == 0 else at for tp, at in offsets.items()}
        member.commit_sync(offsets, timeout=5)

    story.meanwhile(read)
    story.arrive()
    story.wait(20_000)
    yield
    poison.append(story.sandbox.end_offset("t", 0))
    story.wait(20_000)
    yield
    story.fix("kctl consume t -p 0")
    poison.append(-1)
    story.wait(5_000)


@incident(
    f"why group g {INTERVAL}",
    "poison-record",
    "is a tombstone",
    fix="stop the consumers of g, then: kctl groups reset-",
)
def test_poison_record_is_skipped_by_the_fix_after_the_consumers_stopped(story: Live) -> Steps:
    def start() -> Consumer:
        return story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))

    def read() -> None:
        if not members:
            story.pause(runtime, 500)
            return
        member = members[-1]
        member.poll(0.5)
        offsets = {tp: at for tp in member.assignment if (at := member.position(tp)) is not None}
        fails = poison and any(tp.partition == 0 and at >= poison[-1] for tp, at in offsets.items())
        member.commit_sync({tp: at for tp, at in offsets.items() if tp.partition or not fails}, timeout=5)

    members, poison, runtime = [start()], list[int](), story.own_runtime("reader")
    story.meanwhile(read)
    story.arrive()
    story.wait(20_000)
    yield
    poison.append(story.sandbox.end_offset("t", 0))
    with story.sim.producer() as producer:
        producer.send("t", None, partition=0)
    story.wait(5_000)
    yield
    member = members.pop()
    story.wait(2_000)
    member.close()
    story.fix("kctl groups reset-offsets")
    poison.clear()
    members.append(start())
    story.wait(20_000)


@incident(f"why group g {INTERVAL}", "group-stuck", "Member pod-1 (", fix="kctl groups remove-members g --instance")
def test_static_member_whose_process_was_killed_is_removed(story: Live) -> Steps:
    is_killed = [False]

    def member(number: int) -> Consumer:
        properties = {"group_id": "g", "group_instance_id": f"pod-{number}", "session_timeout_ms": 300_000}
        consumer = story.enter(story.sim.consumer(**properties, auto_commit_interval_ms=1_000))
        consumer.subscribe(["t"])
        return consumer

    def read() -> None:
        if not is_killed[-1]:
            killed.poll(0.5)
        other.poll(0.5)

    killed, other = member(1), member(2)
    story.meanwhile(read)
    story.arrive()
    story.wait(40_000)
    yield
    is_killed.append(True)
    story.wait(2_000)
    killed.close()  # static members do not leave
    story.wait(20_000)
    yield
    story.fix("kctl groups remove-members")
    story.wait(40_000)


@incident(
    "groups lag g", "GROUP_ID_NOT_FOUND", "group g", fix="offsets.retention.minutes", code=ExitCode.UNKNOWN_RESOURCE
)
def test_group_that_retention_has_forgotten_is_named_as_such(story: Live) -> Steps:
    story.produce(5)
    story.sim.commit("g", {("t", 0): 5})
    yield
    story.admin.delete_groups(["g"]).raise_first()
    yield
    assert story.run("groups reset-offsets g --create --topic t --to-latest --execute").code == ExitCode.OK


@incident("why group g", "group-throttled", "100 bytes/s", fix="kctl quotas unset consumer_byte_rate")
def test_quota_of_a_member_is_found_until_it_is_removed(story: Live) -> Steps:
    member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
    settle(member)
    story.produce(4)
    yield
    member.poll(0.5)
    member.commit_sync(timeout=5)
    story.produce(4)
    story.admin.alter_client_quotas({QuotaEntity.of({"client-id": "app"}): {"consumer_byte_rate": 100.0}}).raise_first()
    yield
    story.fix("kctl quotas unset")


# --- controllers and disks --------------------------------------------------------------------------------------------


@incident(
    "why cluster",
    "controller-unreachable",
    "brokers 1, 2 and 3 forwarded DescribeQuorum to the controller and got no response",
    fix="check that the controllers are running",
)
def test_controllers_that_are_down_are_found(story: Live) -> Steps:
    yield
    story.sandbox.stop_controllers()
    yield
    story.sandbox.start_controllers()


@incident(
    "topics create new --if-not-exists",
    "RequestTimeout",
    "The change may have been made",
    "KRaft brokers forward CreateTopics to the controller",
    fix="kctl topics describe new",
    code=ExitCode.REQUEST_TIMEOUT,
)
def test_topic_that_no_controller_creates_has_an_unknown_outcome(story: Live) -> Steps:
    yield
    story.admin.delete_topics(["new"]).raise_first()
    story.sandbox.stop_controllers()
    yield
    story.sandbox.start_controllers()


@incident("why cluster", "no-quorum", "2 of 3 brokers do not respond (brokers 2 and 3)", fix="start brokers 2 and 3")
def test_quorum_without_a_majority_is_found(story: Live) -> Steps:
    yield
    story.sandbox.start_fault(2, Fault.FREEZE)
    story.sandbox.start_fault(3, Fault.FREEZE)
    yield
    story.sandbox.heal()
    story.wait(5_000)


@incident("why cluster", "leader-skew", "broker 1 leads ", fix="kctl partitions elect --all", code=ExitCode.OK)
def test_leaders_on_one_broker_are_elected_by_the_fix(story: Live) -> Steps:
    yield
    story.sandbox.create_topic("r", 58, 3)
    for partition in range(58):
        story.sandbox.move_leader("r", partition, 1)
    yield
    story.fix("kctl partitions elect")


@incident(
    "why cluster", "leader-skew", "broker 1 leads ", fix="kctl partitions plan --to-brokers 1,2,3 > ", code=ExitCode.OK
)
def test_replicas_that_prefer_one_broker_are_moved_by_the_fix(story: Live) -> Steps:
    yield
    story.admin.create_topics([NewTopic("r", assignments=dict.fromkeys(range(60), (1, 2)))]).raise_first()
    yield
    story.fix("kctl partitions plan")


@incident("why cluster", "disk-filling", "The largest topic is r", fix="kctl configs set topic r retention.bytes=")
def test_disk_that_fills_is_emptied_by_its_fix(story: Live) -> Steps:
    story.create(partitions=1, segment_bytes="100000", retention_bytes="-1")
    story.produce(95, "r", size=10_000)
    yield
    story.sandbox.set_disk(2, MEGABYTE)
    yield
    story.fix("kctl configs set")
    story.wait(600_000)


@incident("why cluster", "disk-filling", "The largest topic is r (", fix="kctl configs set topic r retention.bytes=")
def test_disk_that_a_topic_with_several_partitions_fills_is_emptied_by_its_fix(story: Live) -> Steps:
    story.create(partitions=6, segment_bytes="14000", retention_bytes="-1")
    for number in range(6):
        story.produce(24 if number else 6, "r", number, size=5_000)
    yield
    story.sandbox.set_disk(2, 670_000)
    yield
    story.fix("kctl configs set")
    story.wait(600_000)


@incident(
    "why cluster", "broker-missing", "broker 3 is not registered", fix="kctl partitions plan --exclude-brokers 3 > plan"
)
def test_broker_that_is_gone_for_good_loses_its_replicas(story: Live) -> Steps:
    story.create(replicas=2)
    yield
    for topic in list(story.sandbox.cluster.topics):
        move_leaders(story, topic, 3)
    story.sandbox.register(3, is_registered=False)
    yield
    plan = story.run("partitions plan --exclude-brokers 3")
    assert plan.code == ExitCode.OK, plan.stderr
    with NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_bytes(plan.stdout)
        moved = story.run(f"partitions move {file.name}")
    assert moved.code == ExitCode.OK, moved.stderr
