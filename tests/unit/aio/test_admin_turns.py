"""Turns of the calls of AsyncAdmin: the wait for a turn counts as time of the call."""

import asyncio
import math
from functools import partial

import pytest

from kctl.client.aio import AsyncAdmin
from kctl.client.aio.bridge import await_in_bridge
from kctl.client.clock import ManualClock
from kctl.client.network.system import system_runtime


@pytest.mark.parametrize(("given", "left"), [(10, 6), (math.inf, math.inf), (None, 56)])
def test_call_has_the_time_that_the_wait_for_its_turn_left(given: float | None, left: float) -> None:
    async def main() -> None:
        clock, gate = ManualClock(), asyncio.Event()
        admin = AsyncAdmin({"bootstrap.servers": "127.0.0.1:1"}, system_runtime()._replace(clock=clock))
        first = asyncio.create_task(admin._run(lambda: await_in_bridge(gate.wait())))
        await asyncio.sleep(0)
        second = asyncio.create_task(admin._run(partial(lambda *, timeout: timeout, timeout=given)))
        await asyncio.sleep(0)
        clock.advance(4000)
        gate.set()
        assert (await first, await second) == (True, left)
        assert await admin._run(partial(lambda *, timeout: timeout, timeout=given)) == given
        await admin.close()

    asyncio.run(main())
