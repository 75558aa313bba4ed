"""`kctl apply` in virtual time: failures, interrupts, and timeouts report completed changes, and can be resumed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.cli.apply import run as applying
from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted
from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import Ended, run_in_process

FILE = "topics: [{name: new}, {name: t, configs: {retention.ms: 5}, partitions: 9}]"
Apply = Callable[..., Ended]


def with_apply(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use: Callable[[SimCluster, Apply], None], *, text: str = FILE
) -> None:
    """Run a test with a function that applies a file; the brokers check nothing first, so that a failure comes late."""
    path = tmp_path / "t.yaml"
    path.write_text(text)

    def app(cluster: SimCluster, admin: Admin) -> None:
        monkeypatch.setattr(applying, "_check", lambda *_: None)

        def run(*words: str) -> Ended:
            line = (
                "apply",
                "-f",
                str(path),
                "-b",
                cluster.bootstrap,
                "--api-timeout",
                "2s",
                "--output",
                "json",
                *words,
            )
            return run_in_process(*line, runtime=cluster.runtime)

        use(cluster, run)

    run_with_admin(app)


def results(ended: Ended) -> list[str]:
    return [row["result"] for row in json.loads(ended.stdout)["rows"]]


def test_failure_of_one_change_leaves_the_others_and_deletes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def use(cluster: SimCluster, apply: Apply) -> None:
        cluster.sandbox.fail_requests("IncrementalAlterConfigs", ErrorCode.POLICY_VIOLATION)
        ended = apply("--prune", "--yes")
        assert (ended.code, results(ended)) == (ExitCode.PARTIAL_FAILURE, ["done", "failed", "done", "not done"])
        assert "POLICY_VIOLATION" in ended.stderr
        assert "kctl apply: 2 of 4 changes made\n" in ended.stderr
        assert "hint: apply the remaining changes with: kctl apply -f " in ended.stderr
        ended = apply("--prune", "--yes")
        assert (ended.code, results(ended)) == (ExitCode.OK, ["done", "done"])
        assert set(cluster.sandbox.cluster.topics) == {"new", "t"}

    with_apply(monkeypatch, tmp_path, use)


def test_interrupt_reports_done_unknown_and_not_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def use(cluster: SimCluster, apply: Apply) -> None:
        def interrupted(*_: object, **__: object) -> None:
            raise Interrupted(ExitCode.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(Admin, "alter_configs", interrupted)
            ended = apply()
        assert (ended.code, results(ended)) == (ExitCode.SIGINT, ["done", "unknown", "not done"])
        assert "kctl apply: 1 of 3 changes made, 1 possibly made\n" in ended.stderr
        assert apply().code == ExitCode.OK
        assert len(cluster.sandbox.cluster.topics["t"].partitions) == 9

    with_apply(monkeypatch, tmp_path, use)


def test_brokers_that_fall_silent_meanwhile_end_it_at_the_timeout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def use(cluster: SimCluster, apply: Apply) -> None:
        create = Admin.create_topics

        def and_fall_silent(admin: Admin, *given: object, **options: object) -> object:
            made = create(admin, *given, **options)  # type: ignore[arg-type]
            for node_id in (1, 2, 3):
                cluster.sandbox.start_fault(node_id, Fault.SILENCE)
            return made

        before_ms = cluster.clock.now_ms()
        with monkeypatch.context() as patched:
            patched.setattr(Admin, "create_topics", and_fall_silent)
            ended = apply()
        assert cluster.clock.now_ms() - before_ms == 2000
        assert (ended.code, results(ended)) == (ExitCode.PARTIAL_FAILURE, ["done", "unknown", "not done"])
        assert "timed out after 2s (--api-timeout)" in ended.stderr

    with_apply(monkeypatch, tmp_path, use)


def test_thousands_of_topics_are_made_in_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def use(cluster: SimCluster, apply: Apply) -> None:
        cluster.sandbox.fail_requests("CreateTopics", ErrorCode.POLICY_VIOLATION)
        ended = apply()
        assert (results(ended).count("failed"), results(ended).count("done")) == (applying.BATCH, 150)

    text = "topics: [" + ",".join(f"{{name: n{index}}}" for index in range(applying.BATCH + 150)) + "]"
    with_apply(monkeypatch, tmp_path, use, text=text)


@pytest.mark.parametrize("late", [1, 2, 3])
def test_brokers_that_hear_of_a_topic_late_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, late: int
) -> None:
    """All brokers but one are late. `--diff` must see the changes through any broker."""

    def use(cluster: SimCluster, apply: Apply) -> None:
        others = [node for node in (1, 2, 3) if node != late]
        for node in others:
            cluster.sandbox.hold_metadata(node)
        before_ms = cluster.clock.now_ms()
        cluster.at(900, lambda: cluster.sandbox.release_metadata(others[0]))
        cluster.at(1_200, lambda: cluster.sandbox.release_metadata(others[1]))
        ended = apply()
        assert (ended.code, results(ended), "note: " in ended.stderr) == (0, ["done"], False), ended
        assert 1_200 <= cluster.clock.now_ms() - before_ms < 1_400
        assert [apply("--diff").code for _ in range(5)] == [0] * 5

    with_apply(monkeypatch, tmp_path, use, text="topics: [{name: new, configs: {retention.ms: 5}}]")


def test_broker_that_does_not_hear_of_a_topic_is_named_at_the_timeout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def use(cluster: SimCluster, apply: Apply) -> None:
        cluster.sandbox.hold_metadata(2)
        before_ms = cluster.clock.now_ms()
        ended = apply()
        assert (ended.code, results(ended)) == (0, ["done"]), ended
        assert "kctl apply: note: broker 2 did not confirm the changes within 2s (--api-timeout)\n" in ended.stderr
        assert 2_000 <= cluster.clock.now_ms() - before_ms < 2_100

    with_apply(monkeypatch, tmp_path, use, text="topics: [{name: new}]")
