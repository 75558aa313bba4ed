"""Partitions without a leader: what they wait for, by what brokers know of the replicas that may lead."""

from kctl.client.admin import EligibleLeaders
from kctl.client.cluster import TopicPartition
from kctl.why import Finding, Look, Looks, Scope, diagnose
from tests.unit.why.looks import NODES, WALL_MS, partition, topic

T0 = TopicPartition("t", 0)


def no_leader(known: EligibleLeaders | None) -> Finding:
    """Return what is found of a partition on brokers 1 and 4, of which 1 is registered and not in sync."""
    look = Look(WALL_MS, NODES, topics=topic(partition(0, -1, (1, 4), ())), eligible={T0: known} if known else {})
    return next(each for each in diagnose(Looks(look), (Scope.TOPIC,)).findings if each.id == "no-leader")


def test_partition_of_older_brokers_waits_for_those_that_are_away() -> None:
    found = no_leader(None)
    assert found.sentence == "t-0 has no leader: broker 4 not registered, and broker 1 not in sync"
    assert found.cure.startswith("start broker 4;")
    assert [each.request for each in found.evidence] == ["Metadata"]


def test_partition_waits_for_the_replicas_that_are_eligible() -> None:
    found = no_leader(EligibleLeaders((4,), ()))
    assert found.sentence.endswith("broker 1 not in sync; eligible without loss: broker 4")
    assert found.cure.startswith("start broker 4;")
    assert found.evidence[1].values == {"eligible_leader_replicas": "4", "last_known_elr": ""}


def test_last_known_replicas_are_named_where_none_is_eligible() -> None:
    found = no_leader(EligibleLeaders((), (1,)))
    assert found.sentence.endswith("no replica is eligible without loss, the last that were: broker 1")
    assert found.cure.startswith("start broker 1;")
