"""ClusterConnectionStates: limits that double and are never jittered, back-offs that are, and round robin."""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.errors import AuthenticationError, ConnectionLost, ConnectionRefused
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.states import NodeState


def make(seed: int = 0, *, setup_ms: int = 1000, setup_max_ms: int = 5000) -> ClusterConnectionStates:
    chance = Random(seed)
    backoff = ExponentialBackoff(50, 1000, chance)
    return ClusterConnectionStates(backoff, setup_timeout_ms=setup_ms, setup_timeout_max_ms=setup_max_ms, chance=chance)


def test_next_node_idx_goes_round_from_a_drawn_start() -> None:
    starts = set()
    for seed in range(20):
        states = make(seed)
        turns = [states.next_node_idx(3) for _ in range(6)]
        assert turns[:3] == turns[3:]
        assert sorted(turns[:3]) == [0, 1, 2]
        starts.add(turns[0])
    assert starts == {0, 1, 2}


def test_limits_double_to_their_max_whatever_chance_says() -> None:
    for seed in range(5):
        states = make(seed)
        limits = []
        now_ms = 0
        for _ in range(5):
            limits.append(states.connecting(1, now_ms) - now_ms)
            states.disconnected(1, now_ms, ConnectionRefused("x"))
            now_ms = states.may_connect_at_ms(1)
        assert limits == [1000, 2000, 4000, 5000, 5000]


def test_a_limit_above_the_max_is_kept_as_it_was_given() -> None:
    assert make(setup_ms=8000, setup_max_ms=5000).connecting(1, 0) == 8000


def test_back_off_keeps_a_node_from_being_dialled_and_starts_afresh_after_a_success() -> None:
    states = make()
    states.connecting(1, 0)
    states.disconnected(1, 10, ConnectionRefused("x"))
    wait_ms = states.may_connect_at_ms(1) - 10
    assert 40 <= wait_ms <= 60
    assert states.is_backing_off(1, 10 + wait_ms - 1)
    assert not states.can_connect(1, 10 + wait_ms - 1)
    assert states.can_connect(1, 10 + wait_ms)
    states.connecting(1, 100)
    states.ready(1)
    assert states.error(1) is None
    states.disconnected(1, 200, ConnectionLost("y"))
    assert 40 <= states.may_connect_at_ms(1) - 200 <= 60
    assert states.setup_timeout_ms(1) == 1000


def test_giving_up_ourselves_costs_the_node_nothing() -> None:
    states = make()
    states.connecting(1, 0)
    states.released(1)
    assert states.can_connect(1, 0)
    assert states.setup_timeout_ms(1) == 1000


def test_a_refusal_is_not_tried_again_until_it_is_forgotten() -> None:
    states = make()
    states.connecting(1, 0)
    error = AuthenticationError("wrong password")
    states.disconnected(1, 0, error)
    assert states.state(1) is NodeState.REFUSED
    assert states.error(1) is error
    assert not states.can_connect(1, 10**9)
    states.forget(1)
    assert states.can_connect(1, 0)
