"""`kctl quotas` as whole command lines: set, listed, removed, which applies, refusals and exit codes."""

import json
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import ClusterSettings, Sandbox
from tests.cli.access_scene import access
from tests.cli.processes import Ended, kctl

__all__ = ["access"]


def rows(ended: Ended) -> list[dict[str, Any]]:
    assert (ended.code, ended.stderr) == (0, ""), ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def listed(access: str, *words: str) -> list[tuple[Any, ...]]:
    found = rows(kctl("quotas", "list", *words, "-b", access, "--output", "json"))
    return [tuple(row[name] for name in ("user", "client_id", "ip", "key", "quota")) for row in found]


def test_quotas_are_set_listed_applied_and_removed(access: str) -> None:
    for words in (
        ("--user", "ann", "producer_byte_rate=1000", "request_percentage=12.5"),
        ("--user", "ann", "--client-id-default", "producer_byte_rate=7"),
        ("--user-default", "consumer_byte_rate=5", "--yes"),
        ("--client-id", "app", "controller_mutation_rate=0.5"),
        ("--ip", "10.0.0.1", "connection_creation_rate=3"),
    ):
        assert kctl("quotas", "set", *words, "-b", access).code == 0, words
    assert listed(access, "--user", "ann") == [
        ("ann", None, None, "producer_byte_rate", 1000),
        ("ann", None, None, "request_percentage", 12.5),
        ("ann", "<default>", None, "producer_byte_rate", 7),
    ]
    assert listed(access, "--user", "ann", "--client-id-default") == [
        ("ann", "<default>", None, "producer_byte_rate", 7)
    ]
    assert len(listed(access)) == 6
    found = rows(kctl("quotas", "describe", "--user", "ann", "--client-id", "app", "-b", access, "--output", "json"))
    assert {row["key"]: (row["quota"], row["source"]) for row in found} == {
        "producer_byte_rate": (7, "user ann, client-id <default>"),
        "request_percentage": (12.5, "user ann"),
        "consumer_byte_rate": (5, "user <default>"),
        "controller_mutation_rate": (0.5, "client-id app"),
    }
    found = rows(kctl("quotas", "describe", "--ip", "10.0.0.1", "-b", access, "--output", "json"))
    assert ("connection_creation_rate", 3) in [(row["key"], row["quota"]) for row in found]
    for result in ("unset", "not set"):
        ended = kctl("quotas", "unset", "--user", "ann", "producer_byte_rate", "-b", access, "--output", "json")
        assert [row["result"] for row in rows(ended)] == [result]
    assert len(listed(access, "--user", "ann")) == 2
    assert kctl("quotas", "set", "--user", "ann", "producer_byte_rate=1.5MB", "-b", access).code == 0
    assert ("ann", None, None, "producer_byte_rate", 1_500_000) in listed(access)


def test_dry_run_changes_nothing(access: str) -> None:
    ended = kctl("quotas", "set", "--user", "ann", "producer_byte_rate=1", "--dry-run", "-b", access)
    assert (ended.code, b"would be set" in ended.stdout) == (0, True)
    assert listed(access) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("set", "producer_byte_rate=1"), "Missing option --user"),
        (("set", "--user", "a", "producer_byte_rate"), "use KEY=VALUE instead of"),
        (("set", "--user", "a", "producer_byte_rate=fast"), "use a number greater than 0"),
        (("set", "--user", "a", "producer_byte_rate=0"), "use a number greater than 0"),
        (("set", "--user", "a", "producer_byte_rate=nan"), "use a number greater than 0"),
        (("set", "--user", "a", "producer_byte_rate=inf"), "use a number greater than 0"),
        (("set", "--user", "a", "producer_byte_rate=0.5"), "INVALID_REQUEST"),
        (("set", "--user", "a", "connection_creation_rate=5"), "INVALID_REQUEST"),
        (("set", "--user", "a", "no_such_rate=5"), "unknown quota 'no_such_rate': use producer_byte_rate"),
        (("set", "--user", "a", "--user-default", "producer_byte_rate=1"), "cannot be combined"),
        (("set", "--user", "a", "--ip", "10.0.0.1", "producer_byte_rate=1"), "cannot be combined"),
        (("set", "--user", "", "producer_byte_rate=1"), "'--user': use a value that is not empty"),
        (("describe",), "Missing option --user"),
    ],
)
def test_mistake_is_named(access: str, words: tuple[str, ...], says: str) -> None:
    ended = kctl("quotas", *words, "-b", access)
    assert ended.code == ExitCode.USAGE
    assert says in ended.stderr
    assert listed(access) == []


def test_principal_without_rights_is_refused() -> None:
    with Sandbox(nodes=1, settings=ClusterSettings(authorizer=True)).serve() as served:
        for words in (("list",), ("set", "--user", "a", "producer_byte_rate=1"), ("describe", "--user", "a")):
            assert kctl("quotas", *words, "-b", served.bootstrap).code == ExitCode.NOT_AUTHORIZED
