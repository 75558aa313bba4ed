"""The bridge: results, errors and cancellation cross it, and code that waits in finally blocks is awaited."""

import asyncio
from functools import partial

import pytest

from kctl.client.aio.bridge import await_in_bridge, is_bridged, run


def waits(events: list[str], *, seconds: float = 1000) -> str:
    """Wait twice: in the body and in the finally block."""
    events.append(f"begins {is_bridged()}")
    try:
        await_in_bridge(asyncio.sleep(seconds))
        events.append("slept")
    except BaseException as error:
        events.append(type(error).__name__)
        raise
    finally:
        await_in_bridge(asyncio.sleep(0))
        events.append("ends")
    return "result"


def test_result_of_code_that_waits_is_returned() -> None:
    events: list[str] = []
    assert asyncio.run(run(partial(waits, events, seconds=0))) == "result"
    assert events == ["begins True", "slept", "ends"]
    assert not is_bridged()


def test_error_of_an_await_is_raised_where_the_code_waits() -> None:
    async def fails() -> None:
        raise KeyError("why")

    def code() -> str:
        with pytest.raises(KeyError, match="why"):
            await_in_bridge(fails())
        raise ValueError("then")

    with pytest.raises(ValueError, match="then"):
        asyncio.run(run(code))


def test_cancellation_is_raised_where_the_code_waits_and_its_clean_up_is_awaited() -> None:
    events: list[str] = []

    async def main() -> None:
        task = asyncio.create_task(run(partial(waits, events)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert events == ["begins True", "CancelledError", "ends"]


def test_coroutine_that_is_dropped_ends_its_code() -> None:
    events: list[str] = []

    async def main() -> None:
        coroutine = run(partial(waits, events))
        coroutine.send(None)
        coroutine.close()

    asyncio.run(main())
    assert events == ["begins True", "GeneratorExit"]


def test_bridges_may_lie_in_bridges_and_beside_each_other() -> None:
    def inner(number: int) -> int:
        await_in_bridge(asyncio.sleep(0.001 * (3 - number)))
        return number

    def outer(number: int) -> int:
        return await_in_bridge(run(partial(inner, number))) * 10

    async def main() -> list[int]:
        return await asyncio.gather(*(run(partial(outer, number)) for number in range(3)))

    assert asyncio.run(main()) == [0, 10, 20]
