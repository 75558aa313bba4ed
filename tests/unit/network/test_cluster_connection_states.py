"""ClusterConnectionStates: limits that double and are never jittered, back-offs that are, and round robin."""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.errors import AuthenticationError, ConnectionLost, ConnectionRefused
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.states import NodeState


def make(seed: int = 0, *, setup_ms: int = 1000, setup_max_ms: int = 5000) -> ClusterConnectionStates:
    rng = Random(seed)
    backoff = ExponentialBackoff(50, 1000, rng)
    refusal = ExponentialBackoff(1000, 10_000, rng)
    return ClusterConnectionStates(
        backoff, refusal, setup_timeout_ms=setup_ms, setup_timeout_max_ms=setup_max_ms, rng=rng
    )


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


def refuse(states: ClusterConnectionStates, at_ms: int) -> int:
    """Let the node refuse at that instant; return how long it is not dialled."""
    states.connecting(1, at_ms)
    states.disconnected(1, at_ms, AuthenticationError("wrong password"))
    return states.may_connect_at_ms(1) - at_ms


def test_refusal_is_retried_after_a_back_off_that_grows_to_its_maximum() -> None:
    states = make()
    at_ms, waits = 0, []
    for _ in range(7):
        waits.append(refuse(states, at_ms))
        assert states.state(1) is NodeState.REFUSED
        assert isinstance(states.error(1), AuthenticationError)
        assert not states.can_connect(1, at_ms + waits[-1] - 1)
        at_ms += waits[-1]
        assert states.can_connect(1, at_ms)
    assert 800 <= waits[0] <= 1200
    assert all(0.8 * 2**n * 1000 <= wait <= 1.2 * 2**n * 1000 for n, wait in enumerate(waits[:4]))
    assert all(8000 <= wait <= 10_000 for wait in waits[4:])
    states.connecting(1, at_ms)
    states.ready(1)
    states.disconnected(1, at_ms, ConnectionLost("x"))
    assert refuse(states, at_ms + 100) <= 1200


def test_cleared_refusal_keeps_its_first_back_off_and_is_no_refusal_any_more() -> None:
    states = make()
    for at_ms in (0, 2000, 5000, 10_000):
        refuse(states, at_ms)
    states.clear_refusal(1)
    assert states.state(1) is NodeState.DISCONNECTED
    assert 800 <= states.may_connect_at_ms(1) - 10_000 <= 1200
    assert refuse(states, 12_000) > 8000
