"""`python -m tests.sim`: exit codes, the line of a failure, which the same words replay, and the shrinking of a bug."""

from pathlib import Path

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.subscription import Subscription
from tests.sim.chaos.commands import ROOT, fresh_seeds, main
from tests.sim.chaos.plan import ClientPlan, Fault, Plan, load, to_json
from tests.sim.chaos.run import run

READER = ClientPlan(
    "c1", "", {"auto.offset.reset": "earliest", "request.timeout.ms": 5000, "fetch.max.wait.ms": 500, "group.id": "o",
               "metadata.max.age.ms": 1000, "enable.auto.commit": "false"},
)  # fmt: skip


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    faults = [Fault(at_ms, "cut-log", at_ms % 3 + 1, number=at_ms // 100) for at_ms in range(2000, 8000, 700)]
    faults += [Fault(1000, "slow", number=2, duration_ms=2000), Fault(5000, "throttle", number=1, duration_ms=10)]
    path.write_text(to_json(Plan(5, "swarm", 8000, (READER,), tuple(sorted(faults)))))
    return path


def clumsy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: where the end of a log was lost, reading goes on one record too early."""

    def rewind(self: Subscription, tp: TopicPartition, offset: int, leader_epoch: int) -> None:
        self.seek(tp, max(0, offset - 1), leader_epoch)

    monkeypatch.setattr(Subscription, "rewind", rewind)


@pytest.mark.slow
def test_a_run_ends_with_0_and_with_a_failure_with_1_and_the_line_replays_it(
    plan: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.sim.chaos.commands.draw", lambda _: load(plan))
    assert main(["run", "--seeds", "5", "--once"]) == 0
    assert "1 runs, 0.0 virtual hours, 0 failed" in capsys.readouterr().out
    clumsy(monkeypatch)
    assert main(["run", "--seeds", "5", "--once"]) == 1
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("SIM FAIL C")
    assert f"seed=5 plan={load(plan).digest} " in line
    assert " | python -m tests.sim replay 5 | c1.1 at " in line
    assert main(["replay", "5"]) == 1
    rule = line.split()[2]
    assert f"{rule} " in capsys.readouterr().out, "the same rule"


@pytest.mark.slow
def test_a_shrunk_plan_is_smaller_and_still_fails(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.json"
    assert main(["shrink", str(plan), "-o", str(small)]) == 1, "it breaks no rule"
    clumsy(monkeypatch)
    before = run(load(plan)).violations[0].rule
    assert main(["shrink", str(plan), "-o", str(small), "--runs", "8"]) == 0
    assert f"{before}: " in capsys.readouterr().out
    assert len(load(small).faults) < len(load(plan).faults)
    assert before in [violation.rule for violation in run(load(small)).violations]


@pytest.mark.slow
def test_two_runs_of_one_plan_do_not_differ_and_two_plans_do(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(plan), str(plan)]) == 0
    other = tmp_path / "other.json"
    other.write_text(to_json(load(plan)._replace(faults=load(plan).faults[1:])))
    assert main(["diff", str(plan), str(other)]) == 1
    assert "line " in capsys.readouterr().out


def test_a_history_is_written_line_by_line(plan: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    main(["replay", str(plan), "--history", str(history)])
    assert '"what": "born"' in history.read_text().splitlines()[0]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_fresh_seeds_are_those_of_the_commit() -> None:
    assert fresh_seeds(3) == fresh_seeds(3)
    first, second, third = map(int, fresh_seeds(3))
    assert (second, third) == (first + 1, first + 2)
    assert first > 1000, "not those of sim-long"
