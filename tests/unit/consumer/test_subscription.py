import pytest

from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Forget,
    Pause,
    ResolvePosition,
    StartFetch,
)
from kctl.client.consumer.subscription import Subscription
from kctl.client.errors import IllegalStateError
from kctl.client.requests.group_offsets import OffsetAndMetadata
from tests.unit.consumer.fakes import T0, T1, T2, TOPIC_ID, take_changes


def fetching(offset: int = 5) -> Subscription:
    """A subscription to T0, being fetched from `offset` on."""
    subscription = Subscription()
    subscription.assign([T0])
    subscription.seek(T0, offset)
    take_changes(subscription, None)
    return subscription


def test_a_position_is_looked_up_by_the_policy() -> None:
    subscription = Subscription()
    subscription.assign([T0, T1])
    assert take_changes(subscription, LATEST_TIMESTAMP) == [ResolvePosition(T0, 1, -1), ResolvePosition(T1, 2, -1)]
    assert take_changes(subscription, LATEST_TIMESTAMP) == []
    subscription.resolved(T0, 1, 42)
    assert take_changes(subscription, LATEST_TIMESTAMP) == [StartFetch(T0, 1, 42)]


def test_assign_then_seek_looks_up_nothing() -> None:
    subscription = Subscription()
    subscription.assign([T0])
    subscription.seek(T0, 5)
    assert take_changes(subscription, LATEST_TIMESTAMP) == [StartFetch(T0, 2, 5)]


def test_a_look_up_that_was_overtaken_by_a_seek_is_ignored() -> None:
    subscription = Subscription()
    subscription.assign([T0])
    [resolve] = take_changes(subscription, LATEST_TIMESTAMP)
    assert isinstance(resolve, ResolvePosition)
    subscription.seek(T0, 5)
    subscription.resolved(T0, resolve.epoch, 42)
    assert subscription.state(T0).position == 5


def test_partitions_that_stay_assigned_keep_their_position_and_fetch() -> None:
    subscription = fetching(5)
    assert subscription.assign([T1, T0]) == []
    assert take_changes(subscription, EARLIEST_TIMESTAMP) == [ResolvePosition(T1, 3, EARLIEST_TIMESTAMP)]
    assert subscription.state(T0).position == 5
    assert subscription.assignment == [T1, T0]


def test_dropped_partitions_are_forgotten_and_start_anew_when_they_return() -> None:
    subscription = fetching()
    assert subscription.assign([T2]) == [T0]
    assert Forget(T0) in take_changes(subscription, EARLIEST_TIMESTAMP)
    subscription.assign([T0])
    assert subscription.state(T0).position is None


def test_partition_that_is_taken_out_leaves_all_others_as_they_are() -> None:
    subscription = fetching(5)
    subscription.assign([T0, T1])
    take_changes(subscription, EARLIEST_TIMESTAMP)
    assert subscription.remove(T1)
    assert not subscription.remove(T1)
    assert take_changes(subscription, EARLIEST_TIMESTAMP) == [Forget(T1)]
    assert (subscription.assignment, subscription.state(T0).position) == ([T0], 5)


def test_without_a_policy_a_partition_stays_unpositioned() -> None:
    subscription = Subscription()
    subscription.assign([T0, T1])
    subscription.seek(T1, 3)
    assert take_changes(subscription, None) == [StartFetch(T1, 3, 3)]
    assert subscription.unpositioned == [T0]


def test_an_explicit_seek_to_an_end_needs_no_policy() -> None:
    subscription = fetching()
    subscription.reset(T0, EARLIEST_TIMESTAMP)
    assert take_changes(subscription, None) == [ResolvePosition(T0, 3, EARLIEST_TIMESTAMP)]
    assert subscription.unpositioned == []


def test_refetch_keeps_the_position_under_a_new_epoch() -> None:
    subscription = fetching(5)
    subscription.refetch(T0)
    assert take_changes(subscription, None) == [StartFetch(T0, 3, 5)]
    assert subscription.current(T0, 2) is None
    assert subscription.current(T0, 3) is subscription.state(T0)


@pytest.mark.parametrize("is_reset", [False, True])
@pytest.mark.parametrize(("offset", "uncommitted_from"), [(3, 3), (8, 5)])
def test_new_position_with_uncommitted_records_never_moves_their_start_forward(
    offset: int, uncommitted_from: int, is_reset: bool
) -> None:
    subscription = fetching(5)
    state = subscription.state(T0)
    subscription.seek(T0, 4)
    subscription.seek(T0, 5)
    state.position = 7
    if is_reset:
        subscription.reset(T0, LATEST_TIMESTAMP)
        assert subscription.uncommitted_without_position == [T0]
        take_changes(subscription, None)
        subscription.resolved(T0, state.epoch, offset)
    else:
        subscription.seek(T0, offset)
    assert state.uncommitted_from == uncommitted_from
    assert state.is_uncommitted == (offset > uncommitted_from)


@pytest.mark.parametrize(("is_rebalance", "is_committed"), [(False, False), (True, False), (True, True)])
def test_removal_of_a_partition_counts_if_its_records_are_not_committed(is_rebalance: bool, is_committed: bool) -> None:
    subscription = fetching(5)
    subscription.state(T0).position = 7
    if is_committed:
        subscription.committed({T0: OffsetAndMetadata(7), T1: OffsetAndMetadata(1)})
    subscription.assign([], is_rebalance=is_rebalance)
    expected = 0 if is_committed else 1
    assert (subscription.removals, subscription.settled_removals) == (expected, expected * (not is_rebalance))


def test_the_end_of_a_range_stays_until_the_next_seek() -> None:
    subscription = fetching(5)
    subscription.seek(T0, 7, end_offset=9)
    assert take_changes(subscription, None) == [StartFetch(T0, 3, 7, end_offset=9)]
    subscription.refetch(T0)
    assert take_changes(subscription, None) == [StartFetch(T0, 4, 7, end_offset=9)]
    subscription.rewind(T0, 6, 1)
    assert StartFetch(T0, 5, 6, 1, end_offset=9) in take_changes(subscription, None)
    subscription.seek(T0, 8)
    assert take_changes(subscription, None) == [StartFetch(T0, 6, 8)]


def test_pause_is_told_once_and_again_with_a_new_fetch() -> None:
    subscription = fetching(5)
    subscription.set_paused(T0, True)
    subscription.set_paused(T0, True)
    assert take_changes(subscription, None) == [Pause(T0, True)]
    subscription.seek(T0, 9)
    assert take_changes(subscription, None) == [StartFetch(T0, 3, 9), Pause(T0, True)]
    assert subscription.paused == [T0]


def test_partition_that_is_not_assigned_is_refused() -> None:
    with pytest.raises(IllegalStateError, match="t-1 is not assigned"):
        fetching().seek(T1, 0)


def test_a_partition_of_a_topic_that_was_made_anew_is_another_one() -> None:
    subscription = Subscription()
    subscription.assign([T0, T1], {"t": TOPIC_ID})
    subscription.seek(T0, 5)
    assert StartFetch(T0, 3, 5, topic_id=TOPIC_ID) in take_changes(subscription, None)
    assert subscription.assign([T0, T1], {"t": TOPIC_ID}) == []
    assert subscription.assign([T0], {"t": TOPIC_ID[::-1]}) == [T0, T1]
    assert subscription.state(T0).position is None
    forgotten = [Forget(T0), Forget(T1)]
    assert take_changes(subscription, EARLIEST_TIMESTAMP) == [*forgotten, ResolvePosition(T0, 4, EARLIEST_TIMESTAMP)]
