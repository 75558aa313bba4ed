"""IdleExpiryManager: both maps, every expired channel, exact deadlines."""

from kctl.client.clock import FOREVER_MS
from kctl.client.network.idle_expiry import IdleExpiryManager


def test_connecting_channels_expire_each_at_its_own_deadline_all_in_one_call() -> None:
    manager = IdleExpiryManager(1000)
    for channel, deadline in ((1, 300), (2, 100), (3, 100), (4, 200)):
        manager.connecting(channel, deadline)
    assert manager.next_deadline_at_ms() == 100
    assert manager.evict_connecting(99) == []
    assert manager.evict_connecting(100) == [2, 3]
    assert manager.evict_connecting(1000) == [4, 1]
    assert manager.next_deadline_at_ms() == FOREVER_MS


def test_a_channel_moves_when_it_is_ready() -> None:
    manager = IdleExpiryManager(1000)
    manager.connecting(1, 300)
    manager.connected(1, 200)
    assert (dict(manager.lru_connecting), dict(manager.lru_connected)) == ({}, {1: 200})
    assert manager.evict_connecting(10_000) == []
    assert manager.next_deadline_at_ms() == 1200


def test_idle_channels_go_least_recently_used_first_and_all_at_once() -> None:
    manager = IdleExpiryManager(1000)
    for channel in (1, 2, 3):
        manager.connecting(channel, 300)
        manager.connected(channel, 0)
    manager.used(1, 500)
    assert manager.evict_idle(999) == []
    assert manager.evict_idle(1000) == [2, 3]
    assert manager.next_deadline_at_ms() == 1500
    manager.forget(1)
    assert manager.evict_idle(10_000) == []


def test_a_channel_that_left_has_no_deadline() -> None:
    manager = IdleExpiryManager(1000)
    for channel, deadline in ((1, 100), (2, 200), (3, 300)):
        manager.connecting(channel, deadline)
    manager.connected(1, 50)
    manager.forget(2)
    manager.forget(1)
    assert manager.next_deadline_at_ms() == 300
    assert manager.evict_connecting(299) == []
    assert manager.evict_connecting(300) == [3]


def test_traffic_before_a_channel_is_ready_does_not_count_as_use() -> None:
    manager = IdleExpiryManager(1000)
    manager.connecting(1, 300)
    manager.used(1, 100)
    assert not manager.lru_connected
    assert manager.next_deadline_at_ms() == 300


def test_a_negative_limit_means_never() -> None:
    manager = IdleExpiryManager(-1)
    manager.connecting(1, 300)
    manager.connected(1, 0)
    assert manager.evict_idle(10**12) == []
