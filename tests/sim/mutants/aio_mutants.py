"""The bugs planted in the clients for asyncio: one replacement of text each, found by seeds that play these clients."""

from tests.sim.mutants.mutants import Mutant

_AIO = "kctl/client/aio"

AIO_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a cancelled poll loses its records",
        f"{_AIO}/consumer.py",
        "        result.given = result.count  # no await from here to the caller\n",
        "        result.given = result.count\n        await asyncio.sleep(0.001)\n",
    ),
    Mutant(
        "a poll leaves its records to the next poll",
        f"{_AIO}/consumer.py",
        "        result.given = result.count  # no await from here to the caller\n",
        "",
    ),
    Mutant(
        "a loop does not count its records",
        f"{_AIO}/consumer.py",
        "                result.given += 1\n                yield record\n",
        "                yield record\n",
    ),
    Mutant(
        "a wait of a call has no deadline",
        f"{_AIO}/waits.py",
        "    timer = loop.call_at(min(until_s, loop.time() + _LONGEST_S), end_wait, future, False)\n",
        "    timer = loop.call_at(loop.time() + _LONGEST_S, end_wait, future, False)\n",
    ),
)

AIO_PRODUCER_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "sends that wait overtake one another",
        f"{_AIO}/producer.py",
        "            is_next = await ends_in_time(turn.lock.acquire, timer)\n",
        "            is_next = False\n",
    ),
    Mutant(
        "a send overtakes sends that wait",
        f"{_AIO}/producer.py",
        "            if self._turns and _name_of(topic) in self._turns:\n"
        "                raise WouldWait\n"
        "            return send(",
        "            return send(",
    ),
    Mutant(
        "the wait for earlier sends is no part of max.block.ms",
        f"{_AIO}/producer.py",
        "super()._wait_to_accept(partition, record, timer_of_bridge() or timer)",
        "super()._wait_to_accept(partition, record, timer)",
    ),
)
