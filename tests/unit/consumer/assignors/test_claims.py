"""Claims: which of several owners of one partition counts."""

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.sticky import Claim, Claims
from tests.unit.consumer.fakes import T0, T1, T2

WANTED = {"a": ("t",), "b": ("t",)}
PARTITIONS = {"t": 3}


def kept(**claims: Claim) -> dict[str, list[TopicPartition]]:
    return Claims(claims).kept(WANTED, PARTITIONS)


def test_the_newer_generation_counts() -> None:
    assert kept(a=Claim([T0, T1], 4), b=Claim([T1, T2], 5)) == {"a": [T0], "b": [T1, T2]}


def test_of_equal_claims_none_counts() -> None:
    claims = Claims({"a": Claim([T0, T1], 5), "b": Claim([T1], 5)})
    assert claims.kept(WANTED, PARTITIONS) == {"a": [T0], "b": []}
    assert list(claims.disputed) == [T1]
    assert claims.claimants == {T0: ["a"], T1: ["a", "b"]}


def test_an_old_claim_counts_where_there_is_no_other() -> None:
    assert kept(a=Claim([T0], 1), b=Claim([T1], 9)) == {"a": [T0], "b": [T1]}


def test_a_claim_made_twice_by_one_member_is_one() -> None:
    assert kept(a=Claim([T0, T0], 1), b=Claim([], 1)) == {"a": [T0], "b": []}


def test_claims_of_missing_or_unsubscribed_partitions_are_dropped() -> None:
    other, beyond, negative = TopicPartition("u", 0), TopicPartition("t", 3), TopicPartition("t", -1)
    assert kept(a=Claim([T0, other, beyond, negative], 1), b=Claim([], 1)) == {"a": [T0], "b": []}
