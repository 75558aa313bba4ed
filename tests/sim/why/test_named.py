"""`kctl why NAME`: the look-up of the name is part of the limits of the command."""

import json
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault
from tests.sim.why.story import Story, run_story
from tests.support.in_process import Ended, run_in_process

TIMEOUT_MS = 12_000
BUDGET = 8


def why(story: Story, *words: str) -> Ended:
    limits = ("--api-timeout", f"{TIMEOUT_MS}ms", "--output", "json")
    return run_in_process("why", *words, "-b", story.sim.bootstrap, *limits, runtime=story.sim.runtime)


def test_look_up_leaves_time_for_the_findings_while_a_broker_is_silent() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.start_fault(2, Fault.FREEZE)
        started_ms = story.sim.clock.now_ms()
        ended = why(story, "t")
        assert story.sim.clock.now_ms() - started_ms < TIMEOUT_MS
        assert ended.code != ExitCode.API_TIMEOUT, ended.stderr
        assert "under-min-isr" in json.loads(ended.stdout)["checked"]

    run_story(body)


@pytest.mark.parametrize("words", [("t",), ("topic", "t")])
def test_all_requests_are_in_the_budget(words: tuple[str, ...], tmp_path: Path) -> None:
    def body(story: Story) -> None:
        trace = tmp_path / "trace"
        why(story, *words, "--max-requests", str(BUDGET), "--trace-file", str(trace))
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        sent = [each["api"] for each in events if each["event"] == "request_sent" and each["api"] != "ApiVersions"]
        assert len(sent) == BUDGET, sent

    run_story(body)


def test_name_of_a_group_and_a_topic_shows_both() -> None:
    def body(story: Story) -> None:
        story.sim.commit("t", {("t", 0): 0})
        story.produce(3)
        ended = why(story, "t")
        assert {row["id"] for row in json.loads(ended.stdout)["rows"]} >= {"group-no-members"}
        assert "under-min-isr" in json.loads(ended.stdout)["checked"]

    run_story(body)


def test_unknown_name_names_a_similar_one() -> None:
    def body(story: Story) -> None:
        story.sim.commit("billing", {("t", 0): 0})
        ended = why(story, "biling")
        assert ended.code == ExitCode.UNKNOWN_RESOURCE
        assert json.loads(ended.stderr)["hint"] == "did you mean billing?"

    run_story(body)
