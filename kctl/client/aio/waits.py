"""Waits of synchronous code in a bridge, for a future or a socket. `until_s` is a time of the event loop."""

import asyncio

from kctl.client.aio.bridge import await_in_bridge

_LONGEST_S = 60 * 60
"""Maximum duration of one wait in s, because event loops reject waits of centuries."""


def end_wait(future: asyncio.Future[bool], is_ready: bool = True) -> None:
    """Set the result of a future, unless it is done."""
    if not future.done():
        future.set_result(is_ready)


def await_future(future: asyncio.Future[bool], until_s: float) -> bool:
    """Await a future and return its result. Return False at `until_s`, or after _LONGEST_S."""
    loop = asyncio.get_running_loop()
    timer = loop.call_at(min(until_s, loop.time() + _LONGEST_S), end_wait, future, False)
    try:
        return await_in_bridge(future)
    finally:
        timer.cancel()


def await_descriptor(number: int, until_s: float, *, is_write: bool = False) -> bool:
    """Await that a descriptor is ready for reads or writes. Returns as `await_future`."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()
    add, remove = (loop.add_writer, loop.remove_writer) if is_write else (loop.add_reader, loop.remove_reader)
    add(number, end_wait, ready)
    try:
        return await_future(ready, until_s)
    finally:
        remove(number)
