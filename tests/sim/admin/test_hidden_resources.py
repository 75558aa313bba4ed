"""Commands whose principal may not describe all resources: brokers leave them out, which is not their absence."""

from collections.abc import Callable

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.acls import CLUSTER_NAME
from kctl.client.admin import AclOperation, AclPermission, AclResourceType, AclRule, Admin, PatternType
from kctl.sandbox import ClusterSettings
from tests.sim.kit import SimCluster, run_with_admin
from tests.sim.kit.command_lines import run_line, use_hub
from tests.support.in_process import Ended

_T = AclResourceType
GROUP, TOPIC, IDS = (_T.GROUP, "*"), (_T.TOPIC, "*"), (_T.TRANSACTIONAL_ID, "*")
CLUSTER = (_T.CLUSTER, CLUSTER_NAME)
EVERYTHING = [TOPIC, GROUP, IDS, CLUSTER]
WHO = "User:ANONYMOUS"


def rule(kind: AclResourceType, name: str, operation: AclOperation, permission: AclPermission) -> AclRule:
    return AclRule(kind, name, PatternType.LITERAL, "User:*", "*", operation, permission)


def hide(
    monkeypatch: pytest.MonkeyPatch,
    hidden: list[tuple[AclResourceType, str]],
    use: Callable[[Callable[..., Ended]], None],
) -> None:
    """Let group `g` be behind in `t` and use a transactional.id, then hide resources and run commands."""

    def body(cluster: SimCluster, admin: Admin) -> None:
        use_hub(monkeypatch, cluster)
        authorizer = cluster.sandbox.cluster.authorizer
        for kind, name in EVERYTHING:
            authorizer.create(rule(kind, name, AclOperation.ALL, AclPermission.ALLOW))
        cluster.commit("g", {("t", 0): 0})
        with cluster.producer({"transactional.id": "tx"}) as producer:
            producer.init_transactions(timeout=10)
        with cluster.producer() as producer:
            for _ in range(5):
                producer.send("t", b"x", partition=0)
        assert run_line(cluster, "groups lag g --threshold 1").code == ExitCode.PARTIAL_FAILURE
        for kind, name in hidden:
            authorizer.create(rule(kind, name, AclOperation.DESCRIBE, AclPermission.DENY))
        use(lambda line, **options: run_line(cluster, line, **options))

    run_with_admin(body, settings=ClusterSettings(authorizer=True))


# --- topics of a group ------------------------------------------------------------------------------------------------

NO_OFFSETS = f"no committed offsets in topics that {WHO} may describe"


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("groups lag g", 0, f"kctl groups: group g has no assigned partitions and {NO_OFFSETS}\n"),
        ("groups lag g --threshold 1", 3, f"kctl groups: group g has no assigned partitions and {NO_OFFSETS}\n"),
        ("groups lag --threshold 1", 3, ""),
        ("groups describe g", 0, f"kctl groups: group g has no assigned partitions and {NO_OFFSETS}\n"),
        ("groups reset-offsets g --to-latest", 23, NO_OFFSETS),
        ("wait group g --lag 0", 17, f"no committed offsets in topics that {WHO} may describe"),
    ],
)
def test_group_whose_topics_are_hidden_has_unknown_offsets(
    line: str, code: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(run: Callable[..., Ended]) -> None:
        ended = run(line)
        assert ended.code == code, ended.stderr
        assert text in ended.stderr
        assert "lag             0" not in ended.stdout.decode()

    hide(monkeypatch, [TOPIC], use)


def test_why_of_group_whose_topics_are_hidden_names_the_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(run: Callable[..., Ended]) -> None:
        ended = run("why group g")
        assert "no problems found in group g, but some checks are incomplete" in ended.stdout.decode()
        assert "no committed offsets, or permission Describe on its topics is missing" in ended.stdout.decode().replace(
            "\n", " "
        )

    hide(monkeypatch, [TOPIC], use)


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["why group g", "why group invented", "doctor --group g"])
def test_why_of_group_that_is_hidden_fails(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, [GROUP], lambda run: _fails(run(line), ExitCode.NOT_AUTHORIZED))


def _fails(ended: Ended, code: ExitCode) -> None:
    assert ended.code == code, ended


def test_lag_of_all_groups_that_are_hidden_is_not_below_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, [GROUP, CLUSTER], lambda run: _fails(run("groups lag --threshold 1"), ExitCode.PARTIAL_FAILURE))


# --- topics and transactions ------------------------------------------------------------------------------------------


def test_why_of_cluster_whose_topics_are_hidden_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(run: Callable[..., Ended]) -> None:
        ended = run("why cluster")
        assert ended.code == ExitCode.PARTIAL_FAILURE
        assert f"kctl why: {WHO} sees 0 topics, so they were not checked\n" in ended.stderr

    hide(monkeypatch, [TOPIC], use)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("transactions list", "transactional.ids"),
        ("transactions hanging", "topics"),
        ("partitions elect --all", "topics"),
    ],
)
def test_list_of_hidden_resources_is_not_reported_as_empty(
    line: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(run: Callable[..., Ended]) -> None:
        ended = run(line)
        expected = f"kctl {line.split()[0]}: no {what} found: brokers list only {what} that {WHO} may describe\n"
        assert (ended.code, ended.stderr) == (0, expected)

    hide(monkeypatch, [TOPIC, IDS], use)
