"""Fixes: they cover each partition that a finding lists, and state nothing that no request has shown."""

import re

import pytest

from kctl.client.cluster import PartitionInfo
from kctl.client.errors import ApiTimeout
from kctl.why import Look, Looks, Scope, diagnose
from kctl.why.finding import FindingKind
from kctl.why.look import Gap, Silence
from kctl.why.table import FINDINGS
from tests.unit.why.looks import NODES, WALL_MS, found, found_once, group, member, offsets, partition, topic

TOPIC = topic(partition(0, 1), partition(1, 2), partition(2, 3))
ENDS = offsets({0: 9, 1: 9, 2: 9})
UNSEEN = re.compile(r"heartbeat|does not process|crash|is dead|is busy", re.IGNORECASE)
"""States of a process that no request shows."""


def test_fix_of_a_group_without_offsets_covers_every_partition() -> None:
    look = Look(WALL_MS, NODES, topics=TOPIC, groups=group(state="Empty", committed={0: 9}), ends=ENDS)
    look = look._replace(starts=offsets({0: 0, 1: 0, 2: 0}))
    fix = found(look)["uncommitted-partition"].cure
    assert fix == "kctl groups reset-offsets g --topic t:1,2 --to-earliest --execute"


def test_fix_of_lost_records_covers_every_partition() -> None:
    look = Look(WALL_MS, NODES, topics=TOPIC, groups=group(state="Empty", committed={0: 1, 1: 2, 2: 9}), ends=ENDS)
    fix = found(look._replace(starts=offsets({0: 5, 1: 5, 2: 5})))["lost-data"].cure
    assert fix == "kctl groups reset-offsets g --topic t:0,1 --to-earliest --execute"


def test_fix_of_a_truncated_log_has_a_command_for_each_partition() -> None:
    look = Look(WALL_MS, NODES, topics=TOPIC, groups=group(state="Empty", committed={0: 30, 1: 20, 2: 9}), ends=ENDS)
    fix = found(look._replace(starts=offsets({0: 0, 1: 0, 2: 0})))["log-truncated"].cure
    assert fix.split(" && ") == [
        "kctl groups reset-offsets g --topic t:0 --to-offset 9 --execute",
        "kctl groups reset-offsets g --topic t:1 --to-offset 9 --execute",
    ]


@pytest.mark.parametrize("is_active", [True, False])
def test_offsets_of_a_group_with_members_are_reset_after_its_consumers_stopped(is_active: bool) -> None:
    members = (member("m", 0),) if is_active else ()
    look = Look(WALL_MS, NODES, topics=TOPIC, ends=ENDS, starts=offsets({0: 5, 1: 0, 2: 0}))
    look = look._replace(groups=group(*members, committed={0: 1, 1: 30, 2: 2}))
    findings = found_once(look, groups=group(*members, committed={0: 1, 1: 30, 2: 8}))
    fixes = [findings[name].cure for name in ("lost-data", "log-truncated", "offset-moved-backward")]
    stop = "stop the consumers of g, then: " if is_active else ""
    assert [fix for fix in fixes if not fix.startswith(f"{stop}kctl groups reset-offsets g ")] == []


@pytest.mark.parametrize("instance", [None, "pod 1"])
def test_member_that_stands_still_has_the_fixes_that_fit(instance: str | None) -> None:
    now = Look(WALL_MS, NODES, topics=TOPIC, ends=ENDS, stable_ends=ENDS, starts=offsets({0: 0, 1: 0, 2: 0}))
    owner = member("m", 0, 1, instance=instance)
    now = now._replace(groups=group(owner, committed={0: 4, 1: 8}))
    stuck = found_once(now, groups=group(owner, committed={0: 4, 1: 6}), ends=offsets({0: 6, 1: 6, 2: 6}))[
        "group-stuck"
    ]
    fix = "kctl groups remove-members g --instance 'pod 1' --execute"
    assert (f". If the process of this member is gone, run: {fix}" in stuck.cure) == (instance is not None)
    assert "kctl consume t -p 0 -o 4 -n 1 --output jsonl" in stuck.cure
    assert (
        "stop the consumers of g, then: kctl groups reset-offsets g --topic t:0 --to-offset 5 --execute" in stuck.cure
    )


@pytest.mark.parametrize("kind", FINDINGS.values(), ids=lambda kind: kind.id)
def test_text_of_a_finding_states_nothing_that_no_request_shows(kind: FindingKind) -> None:
    texts = (kind.title, kind.sentence, kind.leads_to, kind.cure)
    assert kind.id == "broker-fenced" or not any(UNSEEN.search(text) for text in texts), "DescribeCluster has that one"


# --- coordinators and controllers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fate"), [("__consumer_offsets", "cannot join or commit"), ("__transaction_state", "cannot begin or end")]
)
def test_partition_of_a_coordinator_without_a_leader_is_found(name: str, fate: str) -> None:
    info = PartitionInfo(name, 7, -1, 1, (1, 2), (2,))
    offline = found(Look(WALL_MS, NODES, topics={name: {7: info}}))
    assert offline["coordinator-offline"].sentence.startswith(f"{name}-7 has no leader. ")
    assert fate in offline["coordinator-offline"].leads_to
    assert "no-leader" not in offline


def _without_quorum(*silent: int) -> Look:
    timeout = ApiTimeout("describing the quorum", timeout_ms=3000, elapsed_ms=3000)
    return Look(
        WALL_MS,
        NODES,
        responding=tuple(node.node_id for node in NODES if node.node_id not in silent),
        silent={node_id: Silence("no Metadata response", timeout, "ready") for node_id in silent},
        gaps=(Gap("DescribeQuorum", "the cluster", timeout, "no response"),),
    )


def test_controller_that_does_not_respond_is_found() -> None:
    findings = found(_without_quorum(1))
    assert "no-quorum" not in findings
    assert findings["controller-unreachable"].sentence.endswith("to the controller and got no response within 3s")


def test_quorum_without_a_majority_of_nodes_is_found() -> None:
    findings = found(_without_quorum(1, 2))
    assert "controller-unreachable" not in findings
    assert findings["no-quorum"].sentence == (
        "broker 3 got no DescribeQuorum response from the controller within 3s, and 2 of 3 brokers do not respond "
        "(brokers 1 and 2)"
    )
    assert findings["no-quorum"].cure.startswith("start brokers 1 and 2. ")


@pytest.mark.parametrize("silent", [(1,), (1, 2)])
def test_request_that_the_finding_is_about_is_not_listed_as_unchecked(silent: tuple[int, ...]) -> None:
    unchecked = {
        name for each in diagnose(Looks(_without_quorum(*silent)), tuple(Scope)).unchecked for name in each.ids
    }
    assert "quorum-lag" in unchecked
    assert unchecked.isdisjoint({"no-quorum", "controller-unreachable"})


def test_quorum_that_responds_is_no_finding() -> None:
    assert {"no-quorum", "controller-unreachable"}.isdisjoint(found(_without_quorum()._replace(gaps=())))
