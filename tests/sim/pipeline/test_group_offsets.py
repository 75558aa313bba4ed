"""Offsets of many groups are read and committed within one timeout, whichever broker does not respond."""

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.mirror_groups import GroupOffset, commit_offsets, committed_in, offsets_of
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin

GROUPS = tuple(f"g{number}" for number in range(9))
TP = TopicPartition("t", 0)
TIMEOUT_MS = 5000


def test_offsets_of_several_groups_are_read_and_committed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        found = [GroupOffset(group, *TP, 7, 3, None) for group in GROUPS]
        assert commit_offsets(admin, found, {"t": "u"}, cluster.clock) == found
        copy = TopicPartition("u", 0)
        assert offsets_of(admin, GroupSelection(GROUPS), ["u"]) == {(group, copy): 3 for group in GROUPS}
        assert committed_in(admin, [("g1", TP), ("unknown", TP)], {"t": "u"}) == {("g1", TP): 3}

    run_with_admin(use)


def test_groups_of_a_silent_coordinator_end_by_one_timeout_together() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for group in GROUPS:
            admin.alter_group_offsets(group, {TP: 1}).raise_first()
        frozen = cluster.coordinator("g1")
        cluster.sandbox.start_fault(frozen, Fault.FREEZE)
        silent = [group for group in GROUPS if cluster.coordinator(group) == frozen]
        assert len(silent) > 1
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ApiTimeout):
            offsets_of(admin, GroupSelection(GROUPS), ["t"])
        assert cluster.clock.now_ms() - before_ms == TIMEOUT_MS
        wanted = [GroupOffset(group, *TP, 7, 3, None) for group in GROUPS]
        found = commit_offsets(admin, wanted, {"t": "t"}, cluster.clock)
        assert [each.group for each in found if each.problem] == silent
        assert all("timed out" in each.problem for each in found if each.problem)
        assert cluster.clock.now_ms() - before_ms <= 2 * TIMEOUT_MS

    run_with_admin(use, default_api_timeout_ms=TIMEOUT_MS)
