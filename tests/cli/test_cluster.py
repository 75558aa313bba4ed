"""`kctl cluster`, `kctl brokers` and `kctl wait` as whole command lines."""

import json

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl


def test_cluster_is_described_with_brokers_and_features(bootstrap: str) -> None:
    ended = kctl("cluster", "describe", "-b", bootstrap, "--output", "json")
    found = json.loads(ended.stdout)
    assert (ended.code, [row["broker"] for row in found["rows"]], found["controller_id"]) == (0, [1, 2, 3], 1)
    assert found["features"]["transaction.version"] == {"level": 2, "lowest": 0, "highest": 2}
    assert [row["controller"] for row in found["rows"]] == [True, False, False]
    table = kctl("cluster", "describe", "-b", bootstrap).stdout.decode()
    assert "BROKER  HOST" in table
    assert "transaction.version  2 of 2" in table


def test_quorum_shows_roles_and_lag(bootstrap: str) -> None:
    ended = kctl("cluster", "quorum", "-b", bootstrap, "--output", "jsonl")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(row["node"], row["role"], row["lag"]) for row in rows] == [
        (1, "leader", 0),
        (2, "voter", 0),
        (3, "voter", 0),
    ]


def test_disks_of_all_or_some_brokers(bootstrap: str, topic: str) -> None:
    ended = kctl("brokers", "disks", "-b", bootstrap, "--output", "json")
    rows = json.loads(ended.stdout)["rows"]
    assert (ended.code, [row["broker"] for row in rows]) == (0, [1, 2, 3])
    assert all(row["usable_bytes"] <= row["total_bytes"] and row["error"] is None for row in rows)
    some = kctl("brokers", "disks", "2", "--replicas", "-b", bootstrap, "--output", "json")
    replicas = json.loads(some.stdout)["rows"]
    assert {row["broker"] for row in replicas} == {2}
    assert topic in {row["topic"] for row in replicas}
    missing = kctl("brokers", "disks", "2", "99", "-b", bootstrap)
    assert (missing.code, "broker 99" in missing.stderr) == (ExitCode.DEGRADED, True)


def test_wait_ends_with_0_or_with_17(bootstrap: str, topic: str) -> None:
    assert kctl("wait", "topic", topic, "--partitions", "3", "-b", bootstrap) == (0, b"", "")
    assert kctl("wait", "brokers", "3", "-b", bootstrap) == (0, b"", "")
    ended = kctl("wait", "topic", topic, "--partitions", "4", "-b", bootstrap, "--api-timeout", "1s")
    assert (ended.code, f"topic {topic} has 3 of 4 partitions" in ended.stderr) == (17, True)
    wrong = kctl("wait", "topic", topic, "--gone", "--partitions", "1", "-b", bootstrap)
    assert wrong.code == ExitCode.USAGE
