"""Progress of a stream as a consumer group: committed once, refused where others are, and waited for 5 s at most."""

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.pipeline.source.group_progress import MOST_COMMIT_MS, GroupProgress
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, settle
from tests.sim.kit import run as run_on
from tests.sim.pipeline.test_ranges import runtime

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def progress(cluster: SimCluster) -> GroupProgress:
    return GroupProgress({"bootstrap.servers": cluster.bootstrap}, "g", runtime(cluster, "progress"))


def test_progress_is_committed_and_what_has_not_moved_is_not_sent_again() -> None:
    def body(cluster: SimCluster) -> None:
        with progress(cluster) as group, cluster.admin() as admin:
            group.check()
            assert group.commit({T0: 5, T1: 0}) == ""
            admin.delete_group_offsets("g", [T1]).raise_first()
            assert group.commit({T0: 9, T1: 0}) == ""
            found = admin.list_group_offsets("g").done
            assert {tp: each.offset for tp, each in found.items() if each is not None} == {T0: 9}

    run_on(body, topics={"t": 2})


def test_group_with_members_is_refused_and_one_that_gets_members_is_a_warning() -> None:
    def body(cluster: SimCluster) -> None:
        with progress(cluster) as early, progress(cluster) as late:
            early.check()
            member = cluster.classic_member("g")
            settle(member)
            with pytest.raises(
                ConfigError, match=r"cannot commit the progress to group g: the group has active members \(1\)\."
            ):
                late.check()
            assert early.commit({T0: 5}) == "cannot commit the progress to group g: the group now has active members"
            member.close()
            assert early.commit({T0: 5}) == ""

    run_on(body)


def test_frozen_coordinator_holds_a_batch_up_for_five_seconds_at_most() -> None:
    def body(cluster: SimCluster) -> None:
        with progress(cluster) as group:
            assert group.commit({T0: 5}) == ""
            cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
            before_ms = cluster.clock.now_ms()
            assert "cannot commit the progress to group g: " in group.commit({T0: 6})
            assert cluster.clock.now_ms() - before_ms == MOST_COMMIT_MS
            cluster.sandbox.heal()
            assert group.commit({T0: 6}) == ""

    run_on(body)
