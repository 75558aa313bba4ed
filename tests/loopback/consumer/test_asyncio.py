"""The clients in coroutines: what is cancelled loses no record, and futures can be awaited."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, TopicAuthorizationFailedError
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer, ConsumerRecord
from kctl.client.errors import KafkaError
from kctl.client.producer import Producer
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

T0 = TopicPartition("t", 0)
PATIENCE_S = bound(60)


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        yield served


def fill(served: ServedSandbox, count: int) -> None:
    with Producer({"bootstrap.servers": served.bootstrap}) as producer:
        producer.send_columns("t", [b"%d" % number for number in range(count)])


def member(served: ServedSandbox, **properties: object) -> Consumer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = {"bootstrap.servers": served.bootstrap, "group.id": "g", "auto.offset.reset": "earliest", **given}
    consumer = Consumer(config)
    consumer.subscribe(["t"])
    return consumer


def committed(served: ServedSandbox) -> int:
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        found = admin.list_group_offsets("g", timeout=PATIENCE_S).done.get(T0)
        return 0 if found is None else found.offset


class Held:
    """A consumer whose poll has its records in a thread, and has not returned to the coroutine."""

    def __init__(self, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_result = threading.Event()
        poll = consumer._poll

        def noticed(timeout: object) -> object:
            result = poll(timeout)  # type: ignore[arg-type]
            if result is not None:
                self.has_result.set()
            return result

        monkeypatch.setattr(consumer, "_poll", noticed)


def test_records_of_a_cancelled_poll_come_from_the_next_and_are_not_committed(
    served: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(served, 20)
    consumer = member(served, max_poll_records=10)
    held = Held(consumer, monkeypatch)

    async def main() -> list[bytes | None]:
        task = asyncio.create_task(consumer.poll_async(PATIENCE_S))
        await asyncio.sleep(0)
        assert held.has_result.wait(PATIENCE_S)  # the loop of asyncio stands still: it has not seen the result
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert consumer.position(T0) == 0
        return [record.value for record in await consumer.poll_async(PATIENCE_S)]

    assert asyncio.run(main()) == [b"%d" % number for number in range(10)]
    assert consumer.close(PATIENCE_S).committed
    assert committed(served) == 10


def test_cancelled_wait_frees_the_consumer_immediately_and_wakes_no_later_call(served: ServedSandbox) -> None:
    consumer = member(served)

    async def main() -> None:
        task = asyncio.create_task(consumer.poll_async(PATIENCE_S))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert consumer.subscription == ("t",)  # no ConcurrentModificationError
        fill(served, 1)
        assert [record.value async for record in first_of(consumer)] == [b"0"]

    async def first_of(consumer: Consumer) -> AsyncIterator[ConsumerRecord]:
        async for record in consumer:
            yield record
            return

    asyncio.run(main())
    consumer.close(PATIENCE_S)
    assert committed(served) == 1


@pytest.mark.slow
def test_polls_that_time_out_at_any_point_lose_no_record(served: ServedSandbox) -> None:
    fill(served, 2000)
    consumer = member(served, max_poll_records=50, auto_commit_interval_ms=10)
    chance = random.Random(1)
    seen: list[bytes | None] = []

    async def main() -> None:
        while len(seen) < 2000:
            try:
                records = await asyncio.wait_for(consumer.poll_async(1), chance.choice((0.0005, 0.002, 0.01, 1.5)))
            except TimeoutError:
                continue
            seen.extend(record.value for record in records)
        await asyncio.to_thread(consumer.close, PATIENCE_S)

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert seen == [b"%d" % number for number in range(2000)]
    assert committed(served) == 2000


def test_async_loop_commits_what_it_was_given(served: ServedSandbox) -> None:
    fill(served, 20)
    consumer = member(served)

    async def main() -> None:
        count = 0
        async for _ in consumer:
            count += 1
            if count == 7:
                break

    asyncio.run(main())
    consumer.close(PATIENCE_S)
    assert committed(served) == 7


def test_first_poll_in_a_thread_of_asyncio_warns_that_a_cancelled_one_loses_records(
    served: ServedSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        with member(served) as consumer:
            await consumer.poll_async(0)
            assert caplog.messages == []
            for _ in range(2):
                await asyncio.to_thread(consumer.poll, 0)

    asyncio.run(main())
    assert caplog.messages == ["poll() in a thread of asyncio loses its records if it is cancelled; await poll_async()"]


def test_future_is_awaited_and_outlives_a_cancelled_wait(served: ServedSandbox) -> None:
    async def main() -> None:
        with Producer({"bootstrap.servers": served.bootstrap, "linger.ms": "50"}) as producer:
            futures = [producer.send("t", b"%d" % number) for number in range(3)]
            waiting = asyncio.create_task(wait_for(futures[0]))
            await asyncio.sleep(0)
            waiting.cancel()
            assert [(await future).offset for future in futures] == [0, 1, 2]
            assert (await futures[0]).offset == 0  # done already
            assert await producer.send_columns("t", [b"x", b"y"]) == 2
            assert waiting.cancelled()

    async def wait_for(future: object) -> object:
        return await future  # type: ignore[misc]

    asyncio.run(main())


def test_error_of_an_awaited_future_is_raised_by_the_await(served: ServedSandbox) -> None:
    served.sandbox.fail_requests("Produce", ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=1000)

    async def main() -> None:
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send("t", b"x")
            with pytest.raises(KafkaError):
                await producer.send_columns("t", [b"x"])

    asyncio.run(main())
