"""Functions that threads post to an event loop: in order, all of them, and other tasks run between them."""

import asyncio
import threading
from functools import partial
from itertools import pairwise

from kctl.client.awaiting import MOST_AT_ONCE, wakes_of

COUNT = 10 * MOST_AT_ONCE


def test_other_tasks_run_between_many_posted_functions() -> None:
    async def main() -> None:
        wakes, done = wakes_of(asyncio.get_running_loop()), list[int]()
        for number in range(COUNT):
            wakes.post(partial(done.append, number))
        seen = [0]
        while len(done) < COUNT:
            await asyncio.sleep(0)
            seen.append(len(done))
        assert done == list(range(COUNT))
        assert max(later - earlier for earlier, later in pairwise(seen)) <= MOST_AT_ONCE

    asyncio.run(asyncio.wait_for(main(), 60))


def test_functions_of_other_threads_all_run() -> None:
    async def main() -> None:
        wakes, done = wakes_of(asyncio.get_running_loop()), list[int]()

        def post(first: int) -> None:
            for number in range(first, first + COUNT):
                wakes.post(partial(done.append, number))

        threads = [threading.Thread(target=post, args=(first,)) for first in (0, COUNT)]
        for thread in threads:
            thread.start()
        while len(done) < 2 * COUNT:
            await asyncio.sleep(0)
        for thread in threads:
            thread.join()

    asyncio.run(asyncio.wait_for(main(), 60))
