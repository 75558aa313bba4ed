"""The integration suites of Go's Kafka clients: each test of theirs that passes on Kafka passes on the sandbox too.

`make foreign` runs them and writes the figures that docs/sandbox.md shows to build/foreign.txt. They take minutes, and
need Go and its module proxy, so that CI has no part in them.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from kctl.sandbox import ClusterSettings, Sandbox
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA, ToolMissing, find_tool

LIMIT_S = 900
FIGURES = Path("build") / "foreign.txt"
NOTHING: Mapping[str, str] = MappingProxyType({})
WORDS = re.compile(r'localhost:9092|"localhost"|\b9092\b')


class Suite(NamedTuple):
    """The tests of one Go module.

    Attributes:
        environment: the variables that a suite reads, given the bootstrap servers.
        is_changed: its sources have an address, which is replaced.
        skip: which tests are left out; lacks: which do not pass on the sandbox, for a reason that its page has.
    """

    module: str
    version: str
    packages: Sequence[str]
    nodes: int
    environment: Callable[[str], Mapping[str, str]]
    is_changed: bool = False
    skip: str = "^$"
    lacks: str = "^$"


KAFKA_GO = Suite(
    "github.com/segmentio/kafka-go",
    "v0.4.51",
    (".", "./topics"),
    1,
    lambda _: {"KAFKA_VERSION": "3.7.0"},
    is_changed=True,
    # A nil function in the first ends the run. The second sends nothing; its steps of 1 s race with its limit of 2 s.
    skip="TestReaderConsumerGroup/(verify_offset_committed|.*commits_on_close)|TestErrorCannotConnect",
    lacks="TestConsumerGroupWith(Topic|GroupTopicsSingle)$",  # they want new partitions to appear a while later
)
KGO = Suite(
    "github.com/twmb/franz-go",
    "v1.22.3",
    ("./pkg/kgo",),
    3,
    lambda bootstrap: {"KGO_SEEDS": bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "20000"},
)


def _go(folder: Path, *arguments: str, environment: Mapping[str, str] = NOTHING) -> str:
    go = find_tool("go", "golang")
    done = subprocess.run(
        [go, *arguments],
        cwd=folder,
        env={**os.environ, "GOFLAGS": "-mod=mod", **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S + 60,
    )
    return done.stdout


def _sources(suite: Suite, folder: Path) -> Path:
    """Return the folder of a module as its proxy has it."""
    folder.mkdir()
    (folder / "go.mod").write_text("module fetched\n")
    fetched = json.loads(_go(folder, "mod", "download", "-json", f"{suite.module}@{suite.version}") or "{}")
    if "Dir" not in fetched:
        raise ToolMissing(f"{suite.module} {suite.version}: {fetched.get('Error', 'nothing fetched')}")
    return Path(fetched["Dir"])


def _outcomes(suite: Suite, sources: Path, folder: Path, bootstrap: str) -> dict[str, str]:
    """Return what became of each test, subtests included, by package and name."""
    shutil.copytree(sources, folder)
    port = bootstrap.rpartition(":")[2]
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
        if suite.is_changed and path.suffix == ".go":
            words = {"localhost:9092": f"127.0.0.1:{port}", '"localhost"': '"127.0.0.1"', "9092": port}
            path.write_text(WORDS.sub(lambda found, words=words: words[found[0]], path.read_text()))  # type: ignore[misc]  # a bound default
    limits = ("-short", "-json", "-count=1", f"-timeout={LIMIT_S}s", f"-skip={suite.skip}")
    printed = _go(folder, "test", *limits, *suite.packages, environment=suite.environment(bootstrap))
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    ended = {"pass", "fail", "skip"}
    return {
        f"{one['Package']} {one['Test']}": one["Action"] for one in events if one["Action"] in ended and "Test" in one
    }


@pytest.fixture
def kafka_of() -> Iterator[Callable[[int], str]]:
    """Start Kafka as the suites want it: topics are created as they are named, and nothing is forbidden."""
    properties = {
        "auto.create.topics.enable": "true",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with ExitStack() as stack:
        yield lambda nodes: have(lambda: stack.enter_context(KafkaCluster(NEWEST_KAFKA, nodes, properties))).bootstrap()


@pytest.mark.parametrize("suite", [KAFKA_GO, KGO], ids=["kafka-go", "kgo"])
def test_suite_that_passes_on_kafka_passes_on_the_sandbox(
    suite: Suite, kafka_of: Callable[[int], str], tmp_path: Path
) -> None:
    sources = have(lambda: _sources(suite, tmp_path / "fetched"))
    sandbox = Sandbox(nodes=suite.nodes, settings=ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",)))
    with sandbox.serve() as served, ThreadPoolExecutor(2) as pool:
        places = {"kafka": kafka_of(suite.nodes), "sandbox": served.bootstrap}
        runs = {name: pool.submit(_outcomes, suite, sources, tmp_path / name, at) for name, at in places.items()}
        theirs, ours = (_steady(run.result()) for run in runs.values())
    FIGURES.parent.mkdir(exist_ok=True)
    with FIGURES.open("a") as figures:
        for name, found in (("Kafka", theirs), ("sandbox", ours)):
            whole = Counter(outcome for test, outcome in found.items() if "/" not in test.partition(" ")[2])
            failed = [test for test, outcome in found.items() if outcome == "fail"]
            figures.write(f"{suite.module} {suite.version} {name}: {dict(whole)}, failed: {failed}\n")
    assert "pass" in theirs.values()
    other = [test for test, outcome in theirs.items() if outcome == "pass" != ours.get(test)]
    assert [test for test in other if not re.search(suite.lacks, test)] == []


def _steady(outcomes: Mapping[str, str]) -> dict[str, str]:
    """Return them without the ports in names."""
    return {re.sub(r":\d+", ":PORT", test): outcome for test, outcome in outcomes.items()}
