"""Runtime of a client as one value."""

from kctl.client.clock import Clock
from kctl.client.runtime import Runtime, SocketOptions
from tests.sim.virtual import Hub, SimNetwork, sim_runtime


def _runtime(hub: Hub, name: str) -> Runtime:
    return sim_runtime(hub, name, SimNetwork(hub))


def test_looking_and_starting_are_equal_on_whole_milliseconds_and_honest_between() -> None:
    hub = Hub()
    clock: Clock = _runtime(hub, "c").clock
    hub.sleep_ms(3)
    assert (clock.now_ms(), clock.start_ms()) == (3, 3)
    hub.call_at(3_400, "x", lambda: None)
    hub.run()
    assert (clock.now_ms(), clock.start_ms()) == (3, 4)
    before = clock.wall_ms()
    hub.jump_wall(-500)
    assert clock.wall_ms() == before - 500


def test_entropy_and_chance_repeat_with_the_seed_and_differ_between_clients() -> None:
    one, same, other = (_runtime(Hub(seed), "c1") for seed in (5, 5, 6))
    neighbour = _runtime(Hub(5), "c2")
    drawn = one.entropy.token_bytes(16)
    assert drawn == same.entropy.token_bytes(16)
    assert drawn not in (other.entropy.token_bytes(16), neighbour.entropy.token_bytes(16))
    assert one.rng.random() == same.rng.random() != neighbour.rng.random()


def test_each_selector_is_its_own() -> None:
    runtime = _runtime(Hub(), "c")
    options = SocketOptions(user_timeout_ms=30_000)
    one, other = runtime.make_selector(options), runtime.make_selector(options)
    one.shutdown()
    assert other.poll(5) == []
