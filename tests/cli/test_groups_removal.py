"""`kctl groups remove-members`: a dry run first, the named members alone, and members that are not there."""

import json

from kctl.cli.exit_codes import ExitCode
from tests.cli.groups_scene import join
from tests.cli.processes import kctl
from tests.cli.test_output import check


def test_static_member_that_is_gone_is_shown_then_removed(bootstrap: str, topic: str) -> None:
    group = f"{topic}-group"
    static = {"group.instance.id": "worker-2", "client.id": "app"}
    with join(bootstrap, group, topic, **{name.replace(".", "_"): value for name, value in static.items()}):
        pass  # a static member stays when it closes
    words = ("groups", "remove-members", group, "--instance", "worker-2", "-b", bootstrap)
    check("members", words)
    ended = kctl(*words)
    assert ended.code == 0
    assert "dry run: 1 member would be removed. Add --execute to make the change." in ended.stderr
    ended = kctl(*words, "--execute", "--output", "json")
    assert ended.code == 0
    document = json.loads(ended.stdout)
    [row] = document["rows"]
    assert document["executed"] is True
    assert (row["client"], row["instance"], row["result"]) == ("app", "worker-2", "removed")
    assert json.loads(kctl("groups", "describe", group, "-b", bootstrap, "--output", "json").stdout)["rows"][0][
        "state"
    ] in ("Empty", "Dead")


def test_member_by_its_id_leaves_and_the_other_stays(bootstrap: str, topic: str) -> None:
    group = f"{topic}-group"
    with join(bootstrap, group, topic, group_instance_id="one") as one:
        member_id = one.group_metadata().member_id
        named = ("--member", member_id, "--instance", "one")  # the same member, named twice
        ended = kctl("groups", "remove-members", group, *named, "--yes", "-b", bootstrap, "--output", "jsonl")
        assert ended.code == 0
        assert [json.loads(line)["result"] for line in ended.stdout.splitlines()] == ["removed"]


def test_unknown_members_change_nothing(bootstrap: str, topic: str) -> None:
    group = f"{topic}-group"
    with join(bootstrap, group, topic, group_instance_id="one"):
        names = ("--instance", "one", "--instance", "two", "--member", "x")
        ended = kctl("groups", "remove-members", group, *names, "--execute", "-b", bootstrap)
        assert ended.code == ExitCode.UNKNOWN_RESOURCE
        assert (
            f"cannot remove members of group {group}: no member has group.instance.id two, member ID x" in ended.stderr
        )
        shown = kctl("groups", "members", group, "-b", bootstrap, "--output", "json")
        assert [row["instance"] for row in json.loads(shown.stdout)["rows"]] == ["one"]


def test_without_a_name_it_is_a_usage_error(bootstrap: str, topic: str) -> None:
    ended = kctl("groups", "remove-members", f"{topic}-group", "-b", bootstrap)
    assert ended.code == ExitCode.USAGE
    assert "Choose members with --instance or --member" in ended.stderr
