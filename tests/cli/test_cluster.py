"""`kctl cluster`, `kctl brokers` and `kctl wait` as whole command lines."""

import json

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
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
    assert (missing.code, "broker 99" in missing.stderr) == (ExitCode.PARTIAL_FAILURE, True)


def test_fenced_and_missing_brokers_stay_failures() -> None:
    with Sandbox(nodes=3).serve() as served:
        sandbox = served.sandbox
        b = ("-b", served.bootstrap)
        sandbox.create_topic("r", 1, 3)
        sandbox.cluster.create_topic("q", assignment=[[1, 3]])
        plan = ("partitions", "plan", "q", "--exclude-brokers", "2", *b)
        assert kctl(*plan).code == ExitCode.OK
        sandbox.fence(2)
        sandbox.register(3, is_registered=False)
        ended = kctl("cluster", "describe", *b, "--output", "json")
        assert ended.code == ExitCode.PARTIAL_FAILURE
        states = [(row["broker"], row["state"], row["port"]) for row in json.loads(ended.stdout)["rows"]]
        assert [each[:2] for each in states] == [(1, "up"), (2, "fenced"), (3, "missing")]
        assert (states[1][2] is None, states[2][2]) == (False, None)
        assert "broker 2 is fenced and has 1 replica" in ended.stderr
        disks = kctl("brokers", "disks", *b)
        assert (disks.code, "broker 2 is fenced" in disks.stderr, "broker 3" in disks.stderr) == (3, True, True)
        left = kctl(*plan)
        assert (left.code, "broker 3 is not registered and has 1 replica even after this plan" in left.stderr) == (
            3,
            True,
        )
        waited = kctl("wait", "brokers", "3", *b, "--api-timeout", "500ms")
        assert (waited.code, "1 of 3 brokers are up: 1 (fenced: 2)" in waited.stderr) == (17, True)
        probed = kctl("probe", *b, "-q")
        assert probed.code == ExitCode.PARTIAL_FAILURE


def test_wait_ends_with_0_or_with_17(bootstrap: str, topic: str) -> None:
    assert kctl("wait", "topic", topic, "--partitions", "3", "-b", bootstrap) == (0, b"", "")
    assert kctl("wait", "brokers", "3", "-b", bootstrap) == (0, b"", "")
    ended = kctl("wait", "topic", topic, "--partitions", "4", "-b", bootstrap, "--api-timeout", "1s")
    assert (ended.code, f"topic {topic} has 3 of 4 partitions" in ended.stderr) == (17, True)
    wrong = kctl("wait", "topic", topic, "--gone", "--partitions", "1", "-b", bootstrap)
    assert wrong.code == ExitCode.USAGE
