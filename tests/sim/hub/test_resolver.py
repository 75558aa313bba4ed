"""Names in virtual time."""

from kctl.client.runtime import Address, Resolver
from tests.sim.virtual import Hub, SimResolver


def test_names_numbers_failures_and_slow_answers() -> None:
    hub = Hub()
    table = SimResolver(hub)
    resolver: Resolver = table
    table.add("broker", ["10.0.0.1", "fd00::1"])
    table.add("slow", ["10.0.0.2"], delay_ms=300)
    table.fail("broken", "Temporary failure in name resolution", delay_ms=20)
    done: list[tuple[str, int]] = []
    lookups = {
        host: resolver.lookup(host, 9092, lambda host=host: done.append((host, hub.now_ms)))  # type: ignore[misc]  # a bound default
        for host in ("broker", "slow", "broken", "unknown", "127.0.0.1", "::1")
    }
    assert not any(lookup.done for lookup in lookups.values())
    hub.run()
    assert done == [("broker", 0), ("unknown", 0), ("127.0.0.1", 0), ("::1", 0), ("broken", 20), ("slow", 300)]
    assert lookups["broker"].addresses == [Address("10.0.0.1", 9092), Address("fd00::1", 9092, True)]
    assert lookups["::1"].addresses == [Address("::1", 9092, True)]
    assert lookups["broken"].error == "Temporary failure in name resolution"
    assert lookups["unknown"].error == "Name or service not known"
    assert lookups["unknown"].addresses == []
