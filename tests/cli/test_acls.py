"""`kctl acls` as whole command lines: rules created, listed, checked and deleted, refusals, exit codes."""

import json
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import ClusterSettings, Sandbox
from tests.cli.access_scene import access
from tests.cli.processes import Ended, kctl

__all__ = ["access"]

READ = ("--allow", "User:ann", "--operation", "read", "--topic", "orders")


def rows(ended: Ended) -> list[dict[str, Any]]:
    assert (ended.code, ended.stderr) == (0, ""), ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def listed(access: str, *words: str) -> list[str]:
    names = ("permission", "principal", "host", "operation", "resource_type", "resource", "pattern")
    found = rows(kctl("acls", "list", *words, "-b", access, "--output", "json"))
    return [" ".join(row[name] for name in names) for row in found]


def test_rules_are_created_listed_by_filter_and_deleted(access: str) -> None:
    ended = kctl("acls", "create", *READ, "-b", access, "--output", "json")
    assert [row["result"] for row in rows(ended)] == ["created"]
    ended = kctl("acls", "create", *READ, "-b", access, "--output", "json")
    assert [row["result"] for row in rows(ended)] == ["exists"]
    words = ("--deny", "bob", "--operation", "AlterConfigs", "--operation", "delete", "--topic", "ord", "--prefixed")
    assert kctl("acls", "create", *words, "--host", "10.0.0.1", "-b", access).code == 0
    cluster = ("--allow", "User:*", "--operation", "describe", "--cluster")
    assert kctl("acls", "create", *cluster, "-b", access).code == 0
    read = "allow User:ann * read topic orders literal"
    denied = [f"deny User:bob 10.0.0.1 {name} topic ord prefixed" for name in ("delete", "alter-configs")]
    assert listed(access, "--topic", "orders") == [*denied, read]
    assert listed(access, "--topic", "ord", "--prefixed") == denied
    assert listed(access, "--principal", "ann") == [read]
    assert listed(access, "--cluster") == ["allow User:* * describe cluster kafka-cluster literal"]
    assert listed(access, "--group", "g") == []

    shown = kctl("acls", "delete", "--topic", "orders", "-b", access)
    assert (shown.code, b"would be deleted" in shown.stdout, shown.stdout.count(b"\n")) == (0, True, 2)
    assert "Add --execute to make the change." in shown.stderr
    assert len(listed(access)) == 4
    assert kctl("acls", "delete", "--deny", "bob", "--yes", "-b", access).stdout.count(b"deleted\n") == 2
    assert kctl("acls", "delete", "--topic", "orders", "--execute", "-b", access).code == 0
    assert listed(access) == ["allow User:* * describe cluster kafka-cluster literal"]
    nothing = kctl("acls", "delete", "--topic", "orders", "--execute", "-b", access)
    assert nothing == (0, b"", "kctl acls: no matching ACLs found\n")


def test_dry_run_creates_nothing_and_knows_what_exists(access: str) -> None:
    assert kctl("acls", "create", *READ, "--yes", "-b", access).code == 0
    words = (*READ, "--operation", "write", "--dry-run", "--output", "json")
    found = rows(kctl("acls", "create", *words, "-b", access))
    assert [(row["operation"], row["result"]) for row in found] == [("read", "exists"), ("write", "would be created")]
    assert len(listed(access)) == 1


def test_producers_and_consumers_get_what_they_need(access: str) -> None:
    words = ("--allow", "ann", "--topic", "orders", "--group", "g", "--transactional-id", "t", "-b", access)
    assert kctl("acls", "create", "--producer", "--consumer", *words).code == 0
    found = [each.split()[3:6] for each in listed(access)]
    assert sorted(map(tuple, found)) == [
        ("create", "topic", "orders"),
        ("describe", "topic", "orders"),
        ("describe", "transactional-id", "t"),
        ("read", "group", "g"),
        ("read", "topic", "orders"),
        ("write", "topic", "orders"),
        ("write", "transactional-id", "t"),
    ]


def check(access: str, *words: str) -> tuple[int, list[dict[str, Any]], str]:
    ended = kctl("acls", "check", *words, "-b", access, "--output", "json")
    return ended.code, json.loads(ended.stdout)["rows"], ended.stderr


def test_check_names_the_rule_that_decides_and_the_one_that_is_missing(access: str) -> None:
    kctl("acls", "create", *READ, "-b", access)
    code, [row], stderr = check(access, "User:ann", "--topic", "orders", "--operation", "describe")
    assert (code, row["result"], row["rule"], stderr) == (0, "allowed", "allow User:ann read topic orders", "")
    code, [row], stderr = check(access, "User:ann", "--topic", "orders", "--operation", "write")
    assert (code, row["result"], row["rule"]) == (3, "denied", None)
    assert row["needed"] == "allow User:ann write topic orders"
    command = "kctl acls create --allow User:ann --operation write --topic orders"
    assert command in stderr
    assert kctl(*command.split()[1:], "-b", access).code == 0
    assert check(access, "User:ann", "--topic", "orders", "--operation", "write")[0] == 0

    kctl("acls", "create", "--deny", "User:*", "--operation", "all", "--topic", "*", "-b", access)
    code, [read, write], stderr = check(
        access, "ann", "--topic", "orders", "--operation", "read", "--operation", "write"
    )
    assert (code, read["result"], write["rule"]) == (3, "denied", "deny User:* all topic *")
    assert "kctl acls delete --deny 'User:*' --operation all --topic '*'" in stderr


def test_check_considers_the_host(access: str) -> None:
    kctl("acls", "create", *READ, "--host", "10.0.0.1", "-b", access)
    assert check(access, "ann", "--topic", "orders", "--host", "10.0.0.1")[0] == 0
    assert check(access, "ann", "--topic", "orders", "--host", "10.0.0.2")[0] == 3
    code, _, stderr = check(access, "ann", "--topic", "orders")
    assert (code, "some rules apply only to clients at 10.0.0.1. Add --host to check an address" in stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create", "--allow", "ann", "--topic", "t"), "Missing option --operation."),
        (("create", "--operation", "read", "--topic", "t"), "Missing option --allow or --deny."),
        (("create", "--allow", "ann", "--operation", "read"), "Missing option --topic, --group, --cluster"),
        (("create", "--allow", "ann", "--operation", "fly", "--topic", "t"), "'fly' is not one of all, read"),
        (
            ("create", "--allow", "ann", "--operation", "read", "--cluster"),
            "read does not apply to a cluster",
        ),
        (("create", "--allow", "ann", "--operation", "read", "--topic", "t-*"), "--topic t- --prefixed"),
        (
            ("create", "--allow", "ann", "--operation", "read", "--topic", "*", "--prefixed"),
            "matches all names",
        ),
        (
            ("create", "--allow", "User:", "--operation", "read", "--topic", "t"),
            "use a principal such as User:ann instead of 'User:'",
        ),
        (
            ("create", "--allow", "", "--operation", "read", "--topic", "t"),
            "use a principal such as User:ann instead of ''",
        ),
        (("create", "--allow", "ann", "--operation", "read", "--topic", ""), "the topic name is empty"),
        (("create", "--consumer", "--allow", "ann", "--topic", "t"), "--consumer needs --group."),
        (("create", "--producer", *READ), "--operation cannot be combined with --producer"),
        (("delete",), "Select the rules to delete"),
        (("check", "ann"), "Missing option --topic"),
        (("check", "ann", "--topic", "t", "--prefixed"), "--prefixed is not supported"),
    ],
)
def test_mistake_is_named_before_anything_is_asked(words: tuple[str, ...], says: str) -> None:
    ended = kctl("acls", *words, "-b", "127.0.0.1:1")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert says in ended.stderr


def test_name_that_ends_with_a_star_is_questioned(access: str) -> None:
    ended = kctl("acls", "create", "--allow", "ann", "--operation", "read", "--group", "g*", "-b", access)
    assert (ended.code, "Add --prefixed to match all names that begin with it" in ended.stderr) == (0, True)


def test_brokers_without_authorizer_and_principals_without_rights(bootstrap: str) -> None:
    ended = kctl("acls", "list", "-b", bootstrap)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert "SECURITY_DISABLED" in ended.stderr
    assert "hint: set authorizer.class.name" in ended.stderr
    with Sandbox(nodes=1, settings=ClusterSettings(authorizer=True)).serve() as served:
        for words in (("list",), ("create", *READ), ("check", "ann", "--topic", "t"), ("delete", "--topic", "t")):
            ended = kctl("acls", *words, "-b", served.bootstrap)
            assert ended.code == ExitCode.NOT_AUTHORIZED, words
            assert "CLUSTER_AUTHORIZATION_FAILED" in ended.stderr
