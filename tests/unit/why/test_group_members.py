"""Findings about members and their progress, from looks made by hand, each with its healthy twin."""

from collections.abc import Mapping

from kctl.client.admin import MemberDescription
from kctl.why import Finding, Look
from tests.unit.why.looks import NODES, WALL_MS, found_once, group, member, offsets, partition, topic

TOPIC = topic(partition(0, 1), partition(1, 1))


def look(**fields: object) -> Look:
    return Look(WALL_MS, NODES, topics=TOPIC, **fields)  # type: ignore[arg-type]


def test_epochs_that_rise_between_the_looks_are_found() -> None:
    now = look(groups=group(member("a", 0, 1), epoch=432))
    assert found_once(now, groups=group(member("a", 0, 1), epoch=418))["rebalance-storm"].sentence == (
        "g keeps rebalancing: the group epoch rose by 14, from 418 to 432 within 10s"
    )
    assert found_once(now, groups=group(member("a", 0, 1), epoch=430)) == {}


def test_members_that_join_again_under_new_ids_are_found() -> None:
    before = group(member("a", 0, host="h1"), member("b", 1, host="h2"))
    again = group(member("c", 0, host="h1"), member("d", 1, host="h2"))
    finding = found_once(look(groups=again), groups=before)["rebalance-storm"]
    assert (
        "2 of 2 members rejoined with new member IDs within 10s. Members with new IDs: app (h1), app (h2)"
        in finding.sentence
    )
    one = group(member("c", 0, host="h1"), member("b", 1, host="h2"))
    assert found_once(look(groups=one), groups=before) == {}


def test_group_that_rebalances_in_both_looks_is_found() -> None:
    now = look(groups=group(member("a"), state="PreparingRebalance"))
    assert (
        "most samples show a rebalance (first state CompletingRebalance, last state PreparingRebalance)"
        in found_once(now, groups=group(member("a"), state="CompletingRebalance"))["rebalance-storm"].sentence
    )
    assert "rebalance-storm" not in found_once(now, groups=group(member("a", 0, 1)))


def test_instance_id_that_moves_between_hosts_is_found() -> None:
    before = group(member("a", 0, 1, instance="i", host="h1"))
    moved = group(member("b", 0, 1, instance="i", host="h2"))
    assert found_once(look(groups=moved), groups=before)["duplicate-instance-id"].sentence == (
        "group.instance.id i of g moved from client app on h1 to client app on h2 within 10s"
    )
    restarted = group(member("b", 0, 1, instance="i", host="h1"))
    assert found_once(look(groups=restarted), groups=before) == {}


def test_partitions_that_no_member_has_are_found() -> None:
    now = group(member("a", 0))
    assert found_once(look(groups=now), groups=now)["no-assignment"].sentence == (
        "g is stable (1 member) and subscribes to t, but no member owns 1 partition of the topic"
    )
    assert found_once(look(groups=group(member("a", 0, 1))), groups=now) == {}


def test_static_member_beside_another_of_its_host_is_not_said_to_be_replaced() -> None:
    members = (member("a", 0, instance="pod-1"), member("b", 1, instance="pod-2"))
    now = look(
        groups=group(*members, committed={0: 5, 1: 20}),
        starts=offsets({0: 0, 1: 0}),
        ends=offsets({0: 30, 1: 20}),
        stable_ends=offsets({0: 30, 1: 20}),
    )
    before = {"groups": group(*members, committed={0: 5, 1: 10}), "ends": offsets({0: 20, 1: 15})}
    finding = found_once(now, **before)
    assert finding.keys() == {"group-stuck"}
    assert "g has been at offset 5 of t-0 for 10s, with 25 unread records" in finding["group-stuck"].sentence
    assert "kctl groups remove-members g --instance pod-1 --execute" in finding["group-stuck"].cure


def test_group_that_reads_more_slowly_than_records_arrive_is_found() -> None:
    now = look(
        groups=group(member("a", 0, 1), committed={0: 120}),
        starts=offsets({0: 0}),
        ends=offsets({0: 6_000}),
        stable_ends=offsets({0: 6_000}),
    )
    before = {"groups": group(member("a", 0, 1), committed={0: 100}), "ends": offsets({0: 5_000})}
    assert "falling-behind" not in found_once(now, **before), "an interval between commits may be as long"
    assert found_once(now, 30_000, **before)["falling-behind"].sentence == (
        "g is falling behind on t: 1,000 records arrived in 30s, but the group read only 20. 5,880 records are unread"
    )
    keeps_up = now._replace(groups=group(member("a", 0, 1), committed={0: 5_900}))
    assert found_once(keeps_up, 30_000, **before) == {}


def slow(ends: Mapping[int, int], *members: MemberDescription) -> Finding:
    """Return the finding about a group that read 1 record of each partition, which ended at 1,001 before."""
    both = dict.fromkeys(ends, 501)
    now = look(
        groups=group(*members, committed=both),
        starts=offsets(dict.fromkeys(ends, 0)),
        ends=offsets(ends),
        stable_ends=offsets(ends),
    )
    before = {
        "groups": group(*members, committed=dict.fromkeys(ends, 500)),
        "ends": offsets(dict.fromkeys(ends, 1_001)),
    }
    return found_once(now, 30_000, **before)["falling-behind"]


def test_fix_of_a_slow_group_is_more_consumers_only_if_partitions_are_left_for_them() -> None:
    even = {0: 2_000, 1: 2_000, 2: 2_000}
    assert slow(even, member("a", 0, 1, 2)).cure.startswith("start at most 2 more consumers, or process records faster")
    full = slow(even, member("a", 0), member("b", 1), member("c", 2))
    assert full.cure.startswith("process records faster, or add partitions and consumers")
    hot = slow({0: 1_010, 1: 4_000, 2: 1_010}, member("a", 0, 1, 2))
    assert hot.sentence.endswith(
        "4,517 records are unread. Partition t-1 received 2,999 of the new records and has 3,499 unread records"
    )
    assert hot.cure.startswith("distribute the keys of t evenly, or process records faster. Only one consumer")
    assert "t-1" not in slow({0: 1_900, 1: 2_900, 2: 1_900}, member("a", 0, 1, 2)).cure, "half of the records"
