"""`kctl configs` and `kctl topics alter`: values set and shown, refusals, exit codes."""

import json
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, kctl

OF_ALL_BROKERS = {"min.insync.replicas"}
"""What a new cluster sets of all brokers, so that topics have it from there."""


def entries(ended: Ended) -> dict[str, Any]:
    assert (ended.code, ended.stderr) == (0, ""), ended
    return {row["key"]: row for row in json.loads(ended.stdout)["rows"]}


def shown(bootstrap: str, topic: str, *words: str) -> dict[str, Any]:
    return entries(kctl("configs", "show", "topic", topic, "-b", bootstrap, "--output", "json", *words))


def test_properties_are_set_shown_with_source_and_default_and_unset(bootstrap: str, topic: str) -> None:
    ended = kctl("configs", "set", "topic", topic, "retention.ms=1000", "cleanup.policy=compact", "-b", bootstrap)
    assert (ended.code, ended.stderr, ended.stdout.count(b" set\n")) == (0, "", 2)
    assert shown(bootstrap, topic, "--changed").keys() == {"retention.ms", "cleanup.policy", *OF_ALL_BROKERS}
    entry = shown(bootstrap, topic)["retention.ms"]
    assert {name: entry[name] for name in ("value", "source", "default", "type", "sensitive")} == {
        "value": "1000",
        "source": "DYNAMIC_TOPIC_CONFIG",
        "default": "604800000",
        "type": "LONG",
        "sensitive": False,
    }
    assert kctl("configs", "unset", "topic", topic, "retention.ms", "-b", bootstrap).code == 0
    assert shown(bootstrap, topic, "--changed").keys() == {"cleanup.policy", *OF_ALL_BROKERS}


def test_brokers_defaults_groups_and_client_metrics_have_configs(bootstrap: str) -> None:
    for words in (
        ("broker-defaults", "log.retention.ms=5"),
        ("broker", "2", "log.retention.ms=6"),
        ("group", "g", "consumer.session.timeout.ms=50000"),
        ("client-metrics", "m", "interval.ms=1000"),
    ):
        assert kctl("configs", "set", *words, "-b", bootstrap).code == 0
        *resource, pair = words
        show = kctl("configs", "show", *resource, "--changed", "-b", bootstrap, "--output", "json")
        key, _, value = pair.partition("=")
        assert entries(show)[key]["value"] == value
        assert kctl("configs", "unset", *resource, key, "-b", bootstrap).code == 0


def test_dry_run_changes_nothing(bootstrap: str, topic: str) -> None:
    ended = kctl("configs", "set", "topic", topic, "retention.ms=1", "--dry-run", "-b", bootstrap)
    assert (ended.code, b"would be set" in ended.stdout) == (0, True)
    words = ("--partitions", "9", "--config", "retention.ms=1", "--dry-run")
    ended = kctl("topics", "alter", topic, *words, "-b", bootstrap)
    assert (ended.code, ended.stdout.count(b"would be set")) == (0, 2)
    assert shown(bootstrap, topic, "--changed").keys() == OF_ALL_BROKERS


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("set", "topic", "no-such-topic", "retention.ms=1"), ExitCode.UNKNOWN_RESOURCE, "no-such-topic"),
        (("set", "topic", "TOPIC", "retention.ms=soon"), ExitCode.USAGE, "Not a number"),
        (("set", "topic", "TOPIC", "no.such=1"), ExitCode.USAGE, "no.such"),
        (("set", "topic", "TOPIC"), ExitCode.USAGE, "Missing argument: the name of the config to change."),
        (("set", "topic", "TOPIC", "retention.ms"), ExitCode.USAGE, "use KEY=VALUE instead of 'retention.ms'"),
        (("set", "broker", "first", "a=1"), ExitCode.USAGE, "Invalid broker ID 'first'"),
        (("set", "planet", "mars", "a=1"), ExitCode.USAGE, "'planet' is not one of topic, broker"),
        (("show", "broker"), ExitCode.USAGE, "Missing argument NAME: the name of the broker"),
        (("show", "broker", "99"), ExitCode.UNKNOWN_RESOURCE, "broker 99"),
        (("show", "broker-defaults", "x"), ExitCode.USAGE, "does not accept a name"),
    ],
)
def test_mistake_is_named(bootstrap: str, topic: str, words: tuple[str, ...], code: int, says: str) -> None:
    ended = kctl("configs", *[topic if word == "TOPIC" else word for word in words], "-b", bootstrap)
    assert ended.code == code
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


# --- topics alter -----------------------------------------------------------------------------------------------------


def test_topics_get_properties_and_partitions(bootstrap: str, topic: str) -> None:
    words = ("--config", "retention.ms=7", "--partitions", "5", "--yes", "--output", "json")
    ended = kctl("topics", "alter", topic, *words, "-b", bootstrap)
    assert [(row["key"], row["result"]) for row in json.loads(ended.stdout)["rows"]] == [
        ("retention.ms", "set"),
        ("partitions", "set"),
    ]
    described = kctl("topics", "describe", topic, "-b", bootstrap, "--output", "json")
    assert len(json.loads(described.stdout)["rows"]) == 5
    configs = kctl("topics", "describe", topic, "--configs", "-b", bootstrap, "--output", "json")
    assert entries(configs)["retention.ms"]["value"] == "7"
    assert kctl("topics", "alter", topic, "--config", "retention.ms-", "-b", bootstrap).code == 0
    assert shown(bootstrap, topic, "--changed").keys() == OF_ALL_BROKERS


def test_nothing_is_changed_where_one_of_two_kinds_of_change_is_refused(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "alter", topic, "--config", "retention.ms=7", "--partitions", "1", "-b", bootstrap)
    assert ended.code == ExitCode.USAGE
    assert ended.stderr.startswith("kctl topics: nothing was changed\nkctl topics: cannot add partitions to topic ")
    assert b"not changed" in ended.stdout
    assert shown(bootstrap, topic, "--changed").keys() == OF_ALL_BROKERS


def test_topic_that_fails_beside_another_exits_with_3_and_says_what_finishes_it(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "alter", topic, "no-such-topic", "--config", "retention.ms=7", "-b", bootstrap)
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert "hint: retry the failed change with: kctl topics alter no-such-topic --config retention.ms=7" in ended.stderr
    assert shown(bootstrap, topic)["retention.ms"]["value"] == "7"


def test_nothing_to_change_is_a_mistake(bootstrap: str, topic: str) -> None:
    ended = kctl("topics", "alter", topic, "-b", bootstrap)
    assert (ended.code, "Nothing to change" in ended.stderr) == (ExitCode.USAGE, True)
