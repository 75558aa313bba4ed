"""`kctl topics` create, delete and alter in virtual time: they end once each broker knows of it."""

from collections.abc import Callable

import pytest

from kctl.client.admin import Admin
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.unit.cli.run_in_process import Ended, run_in_process

Topics = Callable[..., Ended]
CHANGES = [("create", "new"), ("delete", "u", "--yes"), ("alter", "t", "--partitions", "9")]
every_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[0])


def with_topics(monkeypatch: pytest.MonkeyPatch, use: Callable[[SimCluster, Topics], None]) -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        del admin
        for module in ("kctl.client.admin.admin", "kctl.cli.metadata_wait"):
            monkeypatch.setattr(f"{module}.system_runtime", lambda: cluster.runtime)

        def run(*words: str) -> Ended:
            line = ("topics", *words, "-b", cluster.bootstrap, "--api-timeout", "2s")
            return run_in_process(*line, clock=cluster.clock)

        use(cluster, run)

    run_with_admin(app)


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
        note = "kctl topics: note: broker 2 may not know all changes yet\n"
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
        note = "kctl topics: note: broker 3 may not know all changes yet\n"
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
