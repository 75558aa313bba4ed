"""Topics that do not exist: `produce` reports that it created one, or refuses; `bench` never creates one."""

from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from kctl.sandbox.settings import ClusterSettings
from tests.cli.processes import kctl


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"old": 1}, settings=ClusterSettings(num_partitions=2)).serve() as served:
        yield served


def test_produce_reports_a_topic_that_it_created(served: ServedSandbox) -> None:
    ended = kctl("produce", "typo", "-b", served.bootstrap, stdin=b"x\n")
    assert ended.code == 0
    assert "note: topic typo did not exist and was created with 2 partitions" in ended.stderr.replace("\n", " ")
    again = kctl("produce", "typo", "-b", served.bootstrap, stdin=b"x\n")
    assert "created" not in again.stderr
    assert "created" not in kctl("produce", "old", "-b", served.bootstrap, stdin=b"x\n").stderr


@pytest.mark.parametrize("option", [("--no-create",), ("-X", "allow.auto.create.topics=false")])
def test_produce_without_creation_refuses_a_missing_topic_at_once(
    served: ServedSandbox, option: tuple[str, ...]
) -> None:
    ended = kctl("produce", "typo", "-b", served.bootstrap, *option, stdin=b"x\n")  # 60s would pass the bound
    assert ended.code == ExitCode.UNKNOWN_RESOURCE, ended.stderr
    assert "typo" in ended.stderr
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ended.stderr
    assert "is ignored" not in ended.stderr
    assert "typo" not in served.sandbox.cluster.topics
    assert kctl("produce", "old", "-b", served.bootstrap, *option, stdin=b"x\n").code == 0


@pytest.mark.parametrize("kind", ["produce", "consume", "end-to-end"])
def test_bench_never_creates_the_topic_that_it_is_given(served: ServedSandbox, kind: str) -> None:
    ended = kctl("bench", kind, "--topic", "typo", "-n", "10", "-b", served.bootstrap)
    assert ended.code == ExitCode.UNKNOWN_RESOURCE, ended.stderr
    assert "typo" not in served.sandbox.cluster.topics
