"""`kctl why` and `kctl doctor` as processes: every shape against its schema, exit codes, options."""

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from kctl.cli.exit_codes import ExitCode
from kctl.client.acls import AclOperation, AclPermission, AclResourceType, AclRule, PatternType
from kctl.client.clock import SystemClock
from kctl.sandbox import ClusterSettings, ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from tests.cli.groups_scene import commit, fill
from tests.cli.processes import kctl
from tests.cli.terminal import Terminal

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "why.v1.json").read_text())


@pytest.fixture
def group(topic: str, bootstrap: str) -> str:
    """A group without members that has 6 records to read."""
    fill(bootstrap, topic, {0: 10}, first_ms=SystemClock().wall_ms())
    commit(bootstrap, f"{topic}-group", {(topic, 0): 4})
    return f"{topic}-group"


def test_every_shape_has_the_finding_and_code_3(bootstrap: str, topic: str, group: str) -> None:
    command = ("why", "group", group, "-b", bootstrap, "--only", "group-no-members")
    table = kctl(*command)
    assert table.code == 3
    text = " ".join(table.stdout.decode().split())
    assert f"WARNING group-no-members: group {group} {group} has no active members" in text
    assert f"6 unread records: 6 on {topic}-0" in text
    document = json.loads(kctl(*command, "--output", "json").stdout)
    jsonschema.validate(document, {**SCHEMA, "oneOf": [{"$ref": "#/$defs/document"}]})
    assert [row["id"] for row in document["rows"]] == ["group-no-members"]
    assert document["checked"] == ["group-no-members"]
    assert yaml.safe_load(kctl(*command, "--output", "yaml").stdout)["rows"] == document["rows"]
    [line] = kctl(*command, "--output", "jsonl").stdout.splitlines()
    jsonschema.validate(json.loads(line), {**SCHEMA, "oneOf": [{"$ref": "#/$defs/line"}]})
    header, row = csv.reader(io.StringIO(kctl(*command, "--output", "csv").stdout.decode()))
    assert dict(zip(header, row, strict=True))["show"] == f"kctl groups lag {group}"


def test_finding_is_printed_with_all_its_parts(bootstrap: str, topic: str, group: str) -> None:
    printed = kctl("why", "group", group, "-b", bootstrap, "--only", "group-no-members").stdout.decode()
    finding, _, summary = printed.partition("\n\n")
    assert [" ".join(part.split()) for part in re.split(r"\n  (?=impact:|evidence:|show:|fix:)", finding)] == [
        f"WARNING group-no-members: group {group} {group} has no active members and 6 unread records: 6 on {topic}-0",
        "impact: The lag grows. Committed offsets are deleted after offsets.retention.minutes without members.",
        f"evidence: DescribeGroups, group {group}: state=Empty, members=0",
        f"evidence: ListOffsets, lag by partition: {topic}-0=6",
        f"show: kctl groups lag {group}",
        f"fix: start the consumers of {group}",
    ]
    assert summary.startswith(f"1 finding for group {group} (")
    healthy = kctl("why", "topic", topic, "-b", bootstrap, "--only", "no-leader", "--only", "under-min-isr").stdout
    assert healthy.decode().startswith(f"no problems found in topic {topic} (2 checks, ")


def test_right_that_is_missing_is_printed_and_changes_no_code() -> None:
    sandbox = Sandbox(nodes=1, topics={"orders": 1}, settings=ClusterSettings(authorizer=True))
    sandbox.cluster.authorizer.create(
        AclRule(
            AclResourceType.TOPIC, "orders", PatternType.LITERAL, "User:*", "*", AclOperation.ALL, AclPermission.ALLOW
        )
    )
    with sandbox.serve() as served:
        command = ("why", "cluster", "-b", served.bootstrap, "--only", "disk-filling", "--only", "no-leader")
        ended, document = kctl(*command), json.loads(kctl(*command, "--output", "json").stdout)
    assert ended.code == 0
    shown = " ".join(ended.stdout.decode().split())
    assert shown.startswith("not fully checked: disk-filling. No result: ")
    assert "DescribeLogDirs (broker 1): permission Describe on the cluster is missing" in shown
    assert "no problems found in the cluster, but some checks are incomplete (1 check, " in shown
    assert document["complete"] is False
    assert [each["right"] for each in document["unchecked"]] == [
        "DescribeConfigs on the cluster",
        "Describe on the cluster",
    ]


@pytest.mark.parametrize(
    "options", [("--ignore", "group-no-members", "--ignore", "uncommitted-partition"), ("--severity", "error")]
)
def test_group_whose_findings_are_left_out_exits_0(bootstrap: str, group: str, options: tuple[str, ...]) -> None:
    ended = kctl("why", "group", group, "-b", bootstrap, *options)
    assert (ended.code, ended.stderr) == (0, "")
    assert f"no problems found in group {group} (" in " ".join(ended.stdout.decode().split())


def test_unknown_group_or_topic_exits_23(bootstrap: str) -> None:
    for subject in ("group", "topic"):
        ended = kctl("why", subject, "no-such-thing", "-b", bootstrap)
        assert (ended.code, ended.stdout) == (23, b"")


def test_second_look_checks_what_one_cannot(bootstrap: str, group: str) -> None:
    one_look = kctl("why", "group", group, "-b", bootstrap, "-v").stdout.decode()
    assert re.search(
        r"^skipped \d+ checks requiring two samples \(add --samples 2\): (.*\n)*?.*group-stuck", one_look, re.M
    )
    ended = kctl("why", "group", group, "-b", bootstrap, "--samples", "2", "--interval", "1s", "--output", "json")
    document = json.loads(ended.stdout)
    assert document["needs_samples"] == ["falling-behind"], "for which two looks 1 s apart say too little"
    assert "group-stuck" in document["checked"]


def test_terminal_hears_that_the_group_is_checked_twice_and_a_pipe_does_not(bootstrap: str, group: str) -> None:
    command = ("why", "group", group, "-b", bootstrap, "--samples", "2", "--interval", "1s")
    with Terminal(*command, columns=40, with_stderr=True) as terminal:
        assert terminal.read_until(b"\n") == b"kctl why: taking two samples, 1s apart\r\n"
        assert b"group-no-members" in terminal.read_all()
    assert b"taking two samples" not in kctl(*command).stderr.encode()


def test_doctor_looks_at_brokers_topics_and_groups(bootstrap: str, group: str) -> None:
    document = json.loads(kctl("doctor", "-b", bootstrap, "--group", group, "--output", "json").stdout)
    assert {"group-no-members"} == {row["id"] for row in document["rows"] if row["subject"] == f"group {group}"}
    assert {"disk-filling", "no-leader", "lost-data"} <= set(document["checked"])


def test_spent_budget_is_reported_and_exits_3(bootstrap: str, group: str) -> None:
    ended = kctl(
        "why", "group", group, "-b", bootstrap, "--max-requests", "6", "--severity", "error", "--output", "json"
    )
    assert ended.code == 3
    assert json.loads(ended.stdout)["requests"] <= 6
    assert json.loads(ended.stdout)["complete"] is False
    assert "the request budget is used up (--max-requests)" in ended.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--only", "group-stack"), "unknown finding 'group-stack': did you mean group-stuck?"),
        (("--samples", "2", "--interval", "100ms"), "the interval between samples must be at least 1s"),
        (
            ("--samples", "2", "--interval", "10s", "--api-timeout", "5s"),
            "--interval 10s must be shorter than --api-timeout (5s)",
        ),
        (("--max-requests", "0"), "--max-requests"),
    ],
)
def test_wrong_option_is_refused(bootstrap: str, options: tuple[str, ...], text: str) -> None:
    ended = kctl("why", "group", "g", "-b", bootstrap, *options)
    assert ended.code == 2
    assert text in ended.stderr


def test_nobody_listens_is_the_cause_of_the_connection() -> None:
    ended = kctl("why", "cluster", "-b", "127.0.0.1:1", "--api-timeout", "2s")
    assert ended.code == 11


def test_finding_that_is_not_looked_for_here_is_refused(bootstrap: str) -> None:
    ended = kctl("why", "cluster", "--only", "group-stuck", "-b", bootstrap)
    assert ended.code == ExitCode.USAGE
    assert "this command does not check group-stuck, which is a finding about a group." in ended.stderr
    ended = kctl("doctor", "--only", "leader-skew", "--ignore", "leader-skew", "-b", bootstrap)
    assert ended.code == ExitCode.USAGE
    assert "leader-skew cannot be in both --only and --ignore." in ended.stderr


@pytest.mark.parametrize("user", [None, "ann"])
def test_doctor_that_sees_nothing_names_its_principal_and_is_not_green(user: str | None) -> None:
    security = None if user is None else ListenerSecurity(users=SaslUsers({user: "secret"}))
    login = ("--security-protocol", "SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN", "-X", f"sasl.username={user}")
    with Sandbox(security=security).serve() as served:
        words = () if user is None else login
        environ = {} if user is None else {"KCTL_SASL_PASSWORD": "secret"}
        ended = kctl("doctor", "-b", served.bootstrap, *words, environ=environ)
    who = "User:ANONYMOUS" if user is None else f"user {user}"
    assert ended.code == ExitCode.PARTIAL_FAILURE, ended
    assert f"kctl doctor: {who} sees 0 topics and 0 groups, so they were not checked\n" in ended.stderr
