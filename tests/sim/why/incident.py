"""Incidents: what goes wrong, the command that an operator runs, and its report until the fault is gone.

    @incident("why cluster", "under-min-isr", "1 of 2 replicas in sync", fix="start broker")
    def test_follower_that_is_lost_is_found(story: Live) -> Steps:
        story.create("r", replicas=2, min_insync_replicas="2")
        yield
        story.sandbox.hold_follower("r", 0, 2)
        yield
        story.sandbox.release_follower("r", 0, 2)

The command reports nothing about the incident at the first `yield` and after the end. At each further `yield` it names
the cause and the fix, and still does a minute later. Whatever a finding names must be in its evidence.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.producer import Producer
from kctl.client.runtime import Runtime
from kctl.sandbox import ClusterSettings, ListenerSecurity, Sandbox
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import use_hub
from tests.sim.virtual import Hub, sim_runtime
from tests.sim.why.story import Story
from tests.support.finding_evidence import unseen_in
from tests.support.in_process import Ended, run_in_process

Steps = Iterator[None]
LASTING_MS = 60_000
SOON_MS = 2_000
TICK_MS = 100
API_TIMEOUT = "60s"
INTERVAL = "--interval 10s"


class Report(NamedTuple):
    """One cause that a command has named, with its fix, and with what requests have reported if it is a finding."""

    text: str
    fix: str
    seen: str = ""

    def unseen(self) -> list[str]:
        """Return the partitions, offsets, epochs and ids of brokers in the text that no request has reported."""
        return unseen_in(self.text, self.seen) if self.seen else []


class Live(Story):
    """A story whose members go on while a command runs."""

    def __init__(self, sim: SimCluster) -> None:
        super().__init__(sim, sim.enter(sim.admin()))
        self.environ: dict[str, str] = {}
        self.report = Report("", "")
        """The cause that the last command has named."""
        self.during: Callable[[], None] | None = None
        """Called in the middle of a command that takes two samples, or after it."""
        self._is_over = False
        self._actors = self._acts = 0

    @property
    def sandbox(self) -> Sandbox:
        return self.sim.sandbox

    def create(self, topic: str = "r", partitions: int = 3, *, replicas: int = 3, **configs: str) -> None:
        """Create a topic with configs such as `min_insync_replicas` for min.insync.replicas."""
        dotted = {name.replace("_", "."): value for name, value in configs.items()}
        self.sandbox.create_topic(topic, partitions, replicas, dotted)

    def wait(self, ms: int) -> None:
        driver = self.sim.runtime.driver
        driver.wait(driver.waiter(), self.sim.clock.now_ms() + ms)

    def meanwhile(self, act: Callable[[], object]) -> None:
        """Repeat something, which takes time, until the story is over."""

        def actor() -> None:
            while not self._is_over:
                act()
            self._actors -= 1

        self._actors += 1
        self.sim.hub.spawn("meanwhile", actor)

    def begin(self) -> None:
        """Let what happens during a command happen in two seconds."""
        act = self.during
        if act is not None:
            self._acts += 1
            runtime = self.own_runtime(f"during command {self._acts}")

            def actor() -> None:
                self.pause(runtime, SOON_MS)
                act()
                self._actors -= 1

            self._actors += 1
            self.sim.hub.spawn("during", actor)

    def arrive(self, topic: str = "t", *, every_ms: int = 1_000) -> None:
        """Append a record to each partition now and then."""

        def write() -> None:
            for partition in self.sandbox.cluster.topics[topic].partitions:
                producer.send(topic, b"x" * 10, partition=partition)
            self.pause(runtime, every_ms)

        runtime = self.own_runtime(f"arriving in {topic}")
        producer = self.sim.enter(Producer({"bootstrap.servers": self.sim.bootstrap}, runtime))
        self.meanwhile(write)

    def own_runtime(self, name: str) -> Runtime:
        """Return a runtime for parallel activity."""
        return sim_runtime(self.sim.hub, name, self.sim.network)

    def pause(self, runtime: Runtime, ms: int) -> None:
        """Let time pass in a parallel activity."""
        runtime.driver.wait(runtime.driver.waiter(), self.sim.clock.now_ms() + ms)

    def end(self) -> None:
        """Let everything that goes on end."""
        self._is_over = True
        while self._actors:
            self.wait(TICK_MS)

    def run(self, line: str) -> Ended:
        """Return how a command line ended; all brokers are its bootstrap servers if it names none."""
        words = shlex.split(line)
        words += [] if "-b" in words else ["-b", self.sim.bootstrap]
        words += [] if "--api-timeout" in words else ["--api-timeout", API_TIMEOUT]
        return run_in_process(*words, environ=self.environ, runtime=self.sim.runtime)

    def fix(self, start: str) -> None:
        """Run the command lines of the last fix from the words `start` on."""
        found = re.split(r"; |\. |, and ", self.report.fix[self.report.fix.index(start) :])[0]
        for line in found.split(" && "):
            command, _, path = line.removeprefix("kctl ").partition(" > ")
            ended = self.run(f"{command} --execute" if command.startswith("topics trim ") else command)
            assert ended.code == ExitCode.OK, ended.stderr
            if path:
                Path(path).write_bytes(ended.stdout)


def incident(
    line: str,
    cause: str,
    *says: str,
    fix: str,
    code: int = ExitCode.PARTIAL_FAILURE,
    topics: Mapping[str, int] | None = None,
    nodes: int = 3,
    settings: ClusterSettings | None = None,
    security: ListenerSecurity | None = None,
) -> Callable[[Callable[[Live], Steps]], Callable[[pytest.MonkeyPatch, Path], None]]:
    """Return what makes a test of a story.

    Args:
        line: the command line of the operator.
        cause: the id of the finding, or the class of the error.
        says: parts of its text.
        fix: a part of its fix, or of the hint.
        code: the exit code while the fault lasts.
    """

    def make(steps: Callable[[Live], Steps]) -> Callable[[pytest.MonkeyPatch, Path], None]:
        def test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
            monkeypatch.chdir(tmp_path)
            with Hub(seed=3) as hub:
                given = {"t": 2} if topics is None else topics
                sim = SimCluster(hub, nodes=nodes, topics=given, settings=settings, security=security)
                use_hub(monkeypatch, sim)
                sim.run(lambda: play(Live(sim)))

        def play(story: Live) -> None:
            try:
                act(story)
            finally:
                story.end()

        def act(story: Live) -> None:
            part = steps(story)
            next(part)
            expect_nothing(story)
            for _ in part:
                expect_cause(story)
                story.wait(LASTING_MS)
                expect_cause(story)
            expect_nothing(story)

        def expect_nothing(story: Live) -> None:
            ended = story.run(f"{line} --output json")
            reports = reports_of(ended)
            assert (cause not in reports, ended.code) == (True, ExitCode.OK), (reports, ended.stderr)

        def expect_cause(story: Live) -> None:
            story.begin()
            ended = story.run(f"{line} --output json")
            reports = reports_of(ended)
            assert (cause in reports, ended.code) == (True, code), (reports, ended.stderr)
            story.report = reports[cause]
            assert [each for each in says if each not in story.report.text] == [], story.report
            assert fix in story.report.fix, story.report
            assert story.report.unseen() == [], story.report

        test.__name__, test.__doc__ = steps.__name__, steps.__doc__
        return test

    return make


def reports_of(ended: Ended) -> dict[str, Report]:
    """Return what a command with JSON output has found, by finding or class of the error."""
    found: dict[str, Report] = {}
    text = ended.stdout.decode()
    documents = [json.loads(text)] if text.startswith("{\n") else [json.loads(each) for each in text.splitlines()]
    for document in documents:
        for row in document.get("rows", ()):
            if "cure" in row:
                seen = json.dumps([row["subject"], row["evidence"]])
                found.setdefault(row["id"], Report(row["sentence"], row["cure"], seen))
        for each in document.get("findings", ()):
            found.setdefault(each["id"], Report(f"{each['where']}: {each['text']}", each["hint"]))
    for line in ended.stderr.splitlines():
        if line.startswith("{"):
            error = json.loads(line)
            text = "\n".join([error["message"], *error["details"]])
            found.setdefault(error["cause"], Report(text, error["hint"] or ""))
    return found
