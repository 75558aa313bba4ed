"""`kctl pipeline mirror` and `verify` as whole processes, between two clusters: plans, results, exit codes, secrets."""

import json
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.pipeline.copies import run_job
from tests.pipeline.exports import produce
from tests.support.in_process import run_in_process
from tests.support.kafka.cluster import KafkaCluster

WRONG = [
    (("mirror", "t"), "Choose a target: --to-bootstrap, --to-config, or --to-topic"),
    (("mirror", "t", "--to-topic", "u", "--interval", "1s"), "--interval needs --continuous"),
    (("mirror", "t", "--to-config", "/missing"), "--to-config /missing: No such file or directory"),
    (("verify", "t"), "Choose a target to compare with: --to-topic, --to-bootstrap, or --to-export"),
    (
        ("verify", "t", "--to-export", "/x", "--to-topic", "u"),
        "--to-export cannot be combined with another --to option",
    ),
    (("mirror", "t", "--to-topic", "u", "--master", "mesos://host:5050"), "is not a Spark master: use local, local[2]"),
    (("replay", "t"), "Choose a target: --to-topic, or --topic-from-header"),
    (("replay", "t", "--to-topic", "u", "--since", "yesterday"), "'yesterday' is not a time"),
    (("replay", "t", "--to-topic", "u", "--until", "end"), "'end' is not a time"),
    (("replay", "t", "--to-topic", "u", "--offset", "7"), "'7' is not a range: use FROM:TO or PARTITION=FROM:TO"),
    (("replay", "t", "--to-topic", "u", "--rate", "fast"), "'fast' is not a rate"),
    (("replay", "t", "--to-topic", "u", "--key", "("), "invalid --key '(': use a regular expression"),
    (("replay", "t", "--to-topic", "u", "--jq", "select("), "--jq"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words[:30] for _, words in WRONG])
def test_contradicting_options_are_a_usage_error(arguments: tuple[str, ...], words: str) -> None:
    ended = run_in_process("pipeline", *arguments, "-b", "127.0.0.1:1")
    assert (ended.code, words in ended.stderr, ended.stdout) == (ExitCode.USAGE, True, b""), ended.stderr


def test_from_one_cluster_to_another_and_back_to_compare(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, tmp_path: Path
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 500, partitions=2)
    there = tmp_path / "there.properties"
    there.write_text(f"bootstrap.servers={kafka_3_9.bootstrap()}\n")
    at = (topic, "-b", kafka_newest.bootstrap(), "--to-config", str(there), "--master", "local[1]")

    missing = run_job("mirror", *at)
    assert missing.code == ExitCode.UNKNOWN_RESOURCE
    assert "add --create (partitions: 2)" in missing.stderr
    planned = run_job("mirror", *at, "--dry-run", "--output", "json")
    assert [row["offsets"] for row in json.loads(planned.stdout)["rows"]] == [250, 250]
    assert "dry run: would mirror 500 offsets (about " in planned.stderr
    mirrored = run_job("mirror", *at, "--create", "--output", "json")
    assert mirrored.code == 0, mirrored.stderr
    (row,) = json.loads(mirrored.stdout)["rows"]
    assert (row["records"], row["partitions"], row["resumed"]) == (500, 2, 0)

    produce(kafka_newest.bootstrap(), topic, 3, partitions=2, first=500)
    compared = run_job("verify", *at, "--output", "json")
    found = json.loads(compared.stdout)
    assert (compared.code, found["equal"]) == (ExitCode.PARTIAL_FAILURE, False)
    assert [each["behind"] for each in found["rows"]] == [2, 1]
    assert "behind in partition 0: source offsets 250, 251\n" in compared.stderr
    assert "2 of 2 partitions differ" in compared.stderr


def test_the_target_gets_limits_and_no_credentials(tmp_path: Path) -> None:
    """What is asked of the target's cluster is asked without the source's password: it is not for it."""
    from kctl.cli.environment import system_environment
    from kctl.cli.options import Common
    from kctl.cli.pipeline.target_options import TargetOptions
    from kctl.cli.setting import Setting
    from kctl.cli.settings import Settings

    given = {
        "bootstrap.servers": "a:1",
        "sasl.jaas.config": "canary",
        "security.protocol": "SASL_SSL",
        "request.timeout.ms": "7",
    }
    settings = Settings({name: Setting(value, "-X") for name, value in given.items()})
    common = Common(system_environment(), settings, 1, None, False, False)
    with TargetOptions(None, "b:2", None).properties(common.settings, is_local=True) as other:
        assert other == {"bootstrap.servers": "b:2", "request.timeout.ms": "7"}
    with TargetOptions(None, None, None).properties(common.settings, is_local=True) as same:
        assert same["bootstrap.servers"] == "a:1"
        assert str(same["sasl.jaas.config"]).startswith("env:")
