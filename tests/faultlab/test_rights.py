"""A real Kafka with ACLs: what its user may not do is refused, by name, before and after the topic may be seen."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl
from tests.faultlab.lab import LONG, Run, check, check_at_once, run_all
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import GUEST, properties_text

pytestmark = pytest.mark.nightly

LISTENER = "SASL_PLAINTEXT"


@pytest.fixture(scope="module")
def guarded(kafka_newest: KafkaCluster) -> KafkaCluster:
    kafka_newest.create_topic("t")
    assert kctl("produce", "t", "-b", kafka_newest.bootstrap(), "-q", stdin=b"not for all\n").code == ExitCode.OK
    return kafka_newest


@pytest.fixture
def login(guarded: KafkaCluster, tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "client.properties"
    file.write_text(properties_text(guarded.guest_properties()))
    return "--command-config", str(file)


def _run(guarded: KafkaCluster, login: tuple[str, str], *words: str) -> Run:
    ended = kctl(*words, "-b", guarded.bootstrap(LISTENER), *login, *LONG.options(words[0]), stdin=b"a record\n")
    return Run(words[0], ended.code, ended.stdout.decode(), ended.stderr, 0)


def _allow(guarded: KafkaCluster, operation: str) -> None:
    given = ["--add", "--allow-principal", f"User:{GUEST}", "--operation", operation, "--topic", "t"]
    guarded.run_tool("org.apache.kafka.tools.AclCommand", "--bootstrap-server", guarded.bootstrap(), *given)


def test_38_nothing_is_allowed(guarded: KafkaCluster, login: tuple[str, str]) -> None:
    runs = run_all(guarded.bootstrap(LISTENER), *login, limits=LONG)
    for command in ("consume", "produce"):
        check(38, runs[command])
        check_at_once(runs[command])
        assert "(TOPIC_AUTHORIZATION_FAILED)" in runs[command].said
    assert runs["topics list"].code == ExitCode.OK
    assert runs["topics list"].stdout.splitlines()[1:] == [], "there is none that it may see"
    for words in (("topics", "describe", "t"), ("topics", "create", "new")):
        run = _run(guarded, login, *words)
        check(38, run)


def test_38_the_topic_may_be_seen_and_no_more(guarded: KafkaCluster, login: tuple[str, str]) -> None:
    """Now the answers to Fetch, InitProducerId, Produce and FindCoordinator refuse."""
    _allow(guarded, "Describe")
    refused = {
        ("consume", "t", "-e"): ("(TOPIC_AUTHORIZATION_FAILED)", ExitCode.NOT_AUTHORIZED),
        ("consume", "t", "-g", "readers"): ("(GROUP_AUTHORIZATION_FAILED)", ExitCode.NOT_AUTHORIZED),
        ("produce", "t"): ("(CLUSTER_AUTHORIZATION_FAILED)", ExitCode.UNDELIVERED),
        ("produce", "t", "-X", "enable.idempotence=false"): ("(TOPIC_AUTHORIZATION_FAILED)", ExitCode.UNDELIVERED),
        ("produce", "t", "--transactional-id", "x"): (
            "(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)",
            ExitCode.NOT_AUTHORIZED,
        ),
    }
    for words, (reason, code) in refused.items():
        run = _run(guarded, login, *words)
        check(38, run, code=code)
        assert reason in run.said
