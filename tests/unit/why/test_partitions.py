"""Partitions without a leader: what they wait for, by what brokers know of the replicas that may lead."""

import pytest

from kctl.client.admin import EligibleLeaders
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.why import Finding, Look, Looks, Scope, diagnose
from tests.unit.why.looks import NODES, WALL_MS, found, partition, topic

T0 = TopicPartition("t", 0)


def no_leader(known: EligibleLeaders | None) -> Finding:
    """Return what is found of a partition on brokers 1 and 4, of which 1 is registered and not in sync."""
    look = Look(WALL_MS, NODES, topics=topic(partition(0, -1, (1, 4), ())), eligible={T0: known} if known else {})
    return next(each for each in diagnose(Looks(look), (Scope.TOPIC,)).findings if each.id == "no-leader")


def test_partition_of_older_brokers_waits_for_those_that_are_away() -> None:
    found = no_leader(None)
    assert (
        found.sentence == "t-0 has no leader. The replicas are on broker 4 (not registered) and broker 1 (not in sync)"
    )
    assert found.cure.startswith("start broker 4. ")
    assert [each.request for each in found.evidence] == ["Metadata"]


def test_leader_that_is_not_registered_is_no_leader() -> None:
    findings = found(Look(WALL_MS, NODES, topics=topic(partition(0, 77, (1, 77)), partition(1, 1))))
    assert findings["no-leader"].sentence == (
        "t-0 has no leader. Metadata lists broker 77 as the leader, but this broker is not registered. The replicas "
        "are on broker 77 (not registered) and broker 1 (in sync and available, but not elected)"
    )
    assert findings["no-leader"].evidence[0].values["leader"] == 77
    assert "preferred-leader-not-leading" not in findings


def test_partition_waits_for_the_replicas_that_are_eligible() -> None:
    found = no_leader(EligibleLeaders((4,), ()))
    assert found.sentence.endswith("broker 1 (not in sync). Replicas that can be elected without data loss: broker 4")
    assert found.cure.startswith("start broker 4. ")
    assert found.evidence[1].values == {"eligible_leader_replicas": "4", "last_known_elr": ""}


def test_last_known_replicas_are_named_where_none_is_eligible() -> None:
    found = no_leader(EligibleLeaders((), (1,)))
    assert found.sentence.endswith("No replica can be elected without data loss. Last eligible replicas: broker 1")
    assert found.cure.startswith(
        "find the active controller with kctl cluster quorum, and search its log for election errors. "
    )


@pytest.mark.parametrize(
    ("info", "reason", "fix"),
    [
        (
            partition(0, -1, (1, 4, 5), ()),
            "broker 4 (not registered), broker 5 (fenced), and broker 1 (not in sync)",
            "start broker 4, or start broker 5, or restore the network between broker 5 and the controllers. ",
        ),
        (
            partition(0, -1, (1, 2, 5), (5,)),
            "broker 5 (fenced) and brokers 1 and 2 (not in sync)",
            "start broker 5, or restore the network between broker 5 and the controllers. ",
        ),
        (
            partition(0, -1, (1, 4, 6), (4,)),
            "brokers 4 and 6 (not registered) and broker 1 (not in sync). Last in-sync replicas: broker 4",
            "start broker 4. ",
        ),
        (
            partition(0, -1, (4, 5), (4, 5)),
            "broker 4 (not registered) and broker 5 (fenced)",
            "start broker 4, or start broker 5, or restore the network between broker 5 and the controllers. ",
        ),
        (
            partition(0, -1, (2,))._replace(offline_replicas=(2,)),
            "broker 2 (offline disk)",
            "find the offline log directory of broker 2 with kctl brokers log-dirs, repair the disk, and restart "
            "broker 2. ",
        ),
        (
            partition(0, -1, (1, 2, 3)),
            "brokers 1, 2 and 3 (in sync and available, but not elected)",
            "find the active controller with kctl cluster quorum, and search its log for election errors. ",
        ),
    ],
)
def test_replica_without_a_leader_is_described_by_what_is_known_of_its_broker(
    info: PartitionInfo, reason: str, fix: str
) -> None:
    look = Look(WALL_MS, NODES, fenced=(Node(5, "b5", 9092),), topics=topic(info))
    found = next(each for each in diagnose(Looks(look), (Scope.TOPIC,)).findings if each.id == "no-leader")
    assert found.sentence == f"t-0 has no leader. The replicas are on {reason}"
    assert found.cure == f"{fix}Avoid an unclean leader election, which can lose records"
