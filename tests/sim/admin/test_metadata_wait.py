"""`kctl topics` create, delete and alter in virtual time: they end once each broker knows of it."""

from collections.abc import Callable

import pytest

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.wording import brokers_text
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import Ended, run_in_process

Topics = Callable[..., Ended]
TOPIC, DEFAULTS = ConfigResource(ResourceType.TOPIC, "t"), ConfigResource(ResourceType.BROKER, "")
CHANGES = [("create", "new"), ("delete", "u", "--yes"), ("alter", "t", "--partitions", "9")]
every_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])


def with_topics(
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[SimCluster, Topics], None],
    settings: ClusterSettings | None = None,
) -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        del admin
        for module in ("kctl.client.admin.admin", "kctl.cli.metadata_wait"):
            monkeypatch.setattr(f"{module}.system_runtime", lambda: cluster.runtime)

        def run(*words: str) -> Ended:
            line = ("topics", *words, "-b", cluster.bootstrap, "--api-timeout", "2s")
            return run_in_process(*line, clock=cluster.clock)

        use(cluster, run)

    run_with_admin(app, settings=settings)


@every_change
@pytest.mark.parametrize("early", [1, 2, 3])
def test_change_ends_once_the_last_broker_knows_it(
    monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...], early: int
) -> None:
    def use(cluster: SimCluster, topics: Topics) -> None:
        late = [node for node in (1, 2, 3) if node != early]
        for node in late:
            cluster.sandbox.hold_metadata(node)
        before_ms = cluster.clock.now_ms()
        cluster.at(900, lambda: cluster.sandbox.release_metadata(late[0]))
        cluster.at(1_200, lambda: cluster.sandbox.release_metadata(late[1]))
        ended = topics(*change)
        assert (ended.code, ended.stderr) == (0, ""), ended
        assert 1_200 <= cluster.clock.now_ms() - before_ms < 1_400

    with_topics(monkeypatch, use)


@every_change
def test_broker_that_does_not_hear_of_a_change_is_named_at_the_api_timeout(
    monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...]
) -> None:
    def use(cluster: SimCluster, topics: Topics) -> None:
        cluster.sandbox.hold_metadata(2)
        before_ms = cluster.clock.now_ms()
        ended = topics(*change)
        note = "kctl topics: note: broker 2 did not confirm the changes within 2s (--api-timeout)\n"
        assert (ended.code, ended.stderr) == (0, note), ended
        assert 2_000 <= cluster.clock.now_ms() - before_ms < 2_200
        assert topics(*change, "-q").stderr.count("note:") == 0

    with_topics(monkeypatch, use)


@every_change
@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.SILENCE])
def test_broker_that_does_not_respond_is_named_and_not_waited_for_to_the_end(
    monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...], fault: Fault
) -> None:
    def use(cluster: SimCluster, topics: Topics) -> None:
        cluster.sandbox.start_fault(3, fault)
        before_ms = cluster.clock.now_ms()
        ended = topics(*change, "--api-timeout", "30s")
        note = "kctl topics: note: broker 3 did not respond, and may not have applied the changes yet\n"
        assert (ended.code, ended.stderr) == (0, note), ended
        assert cluster.clock.now_ms() - before_ms < (1_000 if fault is Fault.REFUSE else 3_000)

    with_topics(monkeypatch, use)


@pytest.mark.parametrize("change", [*CHANGES[::2], ("delete", "u")], ids=lambda change: change[0])
def test_dry_run_waits_for_no_broker(monkeypatch: pytest.MonkeyPatch, change: tuple[str, ...]) -> None:
    def use(cluster: SimCluster, topics: Topics) -> None:
        cluster.sandbox.hold_metadata(2)
        before_ms = cluster.clock.now_ms()
        ended = topics(*change, *([] if change[0] == "delete" else ["--dry-run"]))
        assert (ended.code, "note: " in ended.stderr) == (0, False), ended
        assert cluster.clock.now_ms() - before_ms < 200

    with_topics(monkeypatch, use)


def test_topic_that_is_recreated_at_once_is_waited_for_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, topics: Topics) -> None:
        cluster.sandbox.hold_metadata(2)
        assert topics("delete", "u", "--yes").code == 0
        before_ms = cluster.clock.now_ms()
        cluster.at(700, lambda: cluster.sandbox.release_metadata(2))
        ended = topics("create", "u")  # broker 2 still has the one before
        assert (ended.code, ended.stderr) == (0, ""), ended
        assert cluster.clock.now_ms() - before_ms >= 700

    with_topics(monkeypatch, use)


LATE: dict[str, tuple[str, str]] = {
    "configs set topic t retention.ms=7": ("describe_configs", ""),
    "configs set broker-defaults log.retention.ms=7": ("describe_configs", ""),
    "topics alter t --config retention.ms=7": ("describe_configs", ""),
    "configs unset topic t retention.ms": ("describe_configs", "configs set topic t retention.ms=7"),
    "acls create --allow User:a --topic t --operation read": ("describe_acls", ""),
    "acls delete --principal User:a --execute": (
        "describe_acls",
        "acls create --allow User:a --topic t --operation read",
    ),
    "users create a --password-from env:SECRET": ("describe_user_scram_credentials", ""),
    "quotas set --user a producer_byte_rate=1000": ("describe_client_quotas", ""),
    "quotas unset --user a producer_byte_rate": (
        "describe_client_quotas",
        "quotas set --user a producer_byte_rate=1000",
    ),
    "users delete a --execute": ("describe_user_scram_credentials", "users create a --password-from env:SECRET"),
}
"""Commands, with the admin method that sees their change and the command to run before."""


def _runs(cluster: SimCluster, bootstrap: str, timeout: str) -> Callable[[str], Ended]:
    """Return what runs a command line against the cluster."""

    def run(line: str) -> Ended:
        words = (*line.split(), "-b", bootstrap, "--api-timeout", timeout)
        return run_in_process(*words, environ={"SECRET": "secret"}, clock=cluster.clock)

    return run


@pytest.mark.parametrize("command", LATE)
@pytest.mark.parametrize("late", [True, False], ids=["late", "never"])
def test_change_of_configs_rules_and_users_is_waited_for_at_every_broker(
    monkeypatch: pytest.MonkeyPatch, command: str, late: bool
) -> None:
    asked, first = LATE[command]

    def use(cluster: SimCluster, topics: Topics) -> None:
        run = _runs(cluster, cluster.bootstrap, "2s")
        if first:
            assert run(first).code == 0
        before_ms = cluster.clock.now_ms()
        known_at_ms = before_ms + (900 if late else 60_000)
        there: Callable[..., object] = getattr(Admin, asked)
        with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
            old = there(admin, *([[TOPIC, DEFAULTS]] if asked == "describe_configs" else []))

        def behind(admin: Admin, *arguments: object, broker_id: int | None = None, **named: object) -> object:
            is_behind = broker_id == 3 and cluster.clock.now_ms() < known_at_ms
            return old if is_behind else there(admin, *arguments, broker_id=broker_id, **named)

        with monkeypatch.context() as patched:
            patched.setattr(Admin, asked, behind)
            ended = run(command)
        took_ms = cluster.clock.now_ms() - before_ms
        assert ended.code == 0, ended
        assert ("note: broker 3 did not confirm the changes within 2s (--api-timeout)" in ended.stderr) is not late, (
            ended
        )
        assert (900 if late else 2_000) <= took_ms < (1_100 if late else 2_200)
        assert run("topics list").code == 0

    with_topics(monkeypatch, use, ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",)))


@pytest.mark.parametrize("command", LATE)
@pytest.mark.parametrize(
    ("silent", "timeout", "most_ms"), [((2,), "1s", 1_100), ((2, 3), "30s", 2_500)], ids=["short", "several"]
)
def test_only_brokers_that_do_not_respond_are_named_after_one_wait_for_all(
    monkeypatch: pytest.MonkeyPatch, command: str, silent: tuple[int, ...], timeout: str, most_ms: int
) -> None:
    _, first = LATE[command]

    def use(cluster: SimCluster, topics: Topics) -> None:
        del topics

        run = _runs(cluster, cluster.bootstrap.split(",")[0], timeout)
        if first:
            assert run(first).code == 0
        for node in silent:
            cluster.sandbox.start_fault(node, Fault.SILENCE)
        before_ms = cluster.clock.now_ms()
        ended = run(command)
        who = brokers_text(silent)
        note = f"kctl {command.split()[0]}: note: {who} did not respond, and may not have applied the changes yet\n"
        assert (ended.code, ended.stderr) == (0, note), ended
        assert cluster.clock.now_ms() - before_ms < most_ms

    with_topics(monkeypatch, use, ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",)))


@pytest.mark.parametrize("command", LATE)
def test_silent_brokers_are_waited_for_no_longer_than_the_api_timeout(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Brokers that return metadata and then stop responding share one timeout."""
    asked, first = LATE[command]

    def use(cluster: SimCluster, topics: Topics) -> None:
        run = _runs(cluster, cluster.bootstrap, "2s")
        if first:
            assert run(first).code == 0
        there: Callable[..., object] = getattr(Admin, asked)
        began_at_ms: list[int] = []

        def silenced(admin: Admin, *arguments: object, broker_id: int | None = None, **named: object) -> object:
            if broker_id is not None and not began_at_ms:
                began_at_ms.append(cluster.clock.now_ms())
                for node_id in (1, 2, 3):
                    cluster.sandbox.start_fault(node_id, Fault.SILENCE)
            return there(admin, *arguments, broker_id=broker_id, **named)

        with monkeypatch.context() as patched:
            patched.setattr(Admin, asked, silenced)
            ended = run(command)
        assert ended.code == 0, ended
        note = "note: brokers 1, 2 and 3 did not respond, and may not have applied the changes yet"
        assert note in ended.stderr, ended
        assert began_at_ms
        assert cluster.clock.now_ms() - began_at_ms[0] <= 2_000

    with_topics(monkeypatch, use, ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",)))
