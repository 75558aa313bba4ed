"""The clients of asyncio on sockets: event loops, cancellation, futures, and the calls of an admin client."""

import asyncio
import contextvars
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvloop

from kctl.client.admin import NewTopic
from kctl.client.aio import AsyncAdmin, AsyncConsumer, AsyncProducer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import ApiTimeout, KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError
from kctl.client.producer import Producer
from kctl.testing import KafkaSandbox, times
from tests.support.bounds import bound

T0 = TopicPartition("t", 0)
PATIENCE_S = bound(60)
Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def kafka() -> Iterator[KafkaSandbox]:
    with KafkaSandbox(1, topics={"t": 1}) as kafka:
        yield kafka


@pytest.fixture(params=["asyncio", "debug", "uvloop", "anyio"])
def run(request: pytest.FixtureRequest) -> Run:
    """The way to run a coroutine."""
    if request.param == "uvloop":
        return uvloop.run
    if request.param == "anyio":

        def run_in_anyio(main: Coroutine[Any, Any, None]) -> None:
            async def body() -> None:
                await main

            anyio.run(body)

        return run_in_anyio
    return lambda main: asyncio.run(main, debug=request.param == "debug")


def servers(kafka: KafkaSandbox) -> dict[str, object]:
    return {"bootstrap.servers": kafka.bootstrap_servers}


def member(kafka: KafkaSandbox, **properties: object) -> AsyncConsumer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    consumer = AsyncConsumer({**servers(kafka), "group.id": "g", "auto.offset.reset": "earliest", **given})
    consumer.subscribe(["t"])
    return consumer


def fill(kafka: KafkaSandbox, count: int) -> None:
    with Producer(servers(kafka)) as producer:
        producer.send_columns("t", [b"%d" % number for number in range(count)])


def test_clients_on_each_event_loop(kafka: KafkaSandbox, run: Run) -> None:
    async def main() -> None:
        async with AsyncProducer(servers(kafka)) as producer:
            assert (await producer.send("t", b"first")).offset == 0
            futures = [await producer.enqueue("t", b"%d" % number) for number in range(500)]
            assert [(await future).offset for future in futures] == list(range(1, 501))
            assert await (await producer.send_columns("t", [b"x", b"y"])) == 2
            await producer.flush(PATIENCE_S)
        async with member(kafka) as consumer:
            seen = 0
            async for _ in consumer:
                seen += 1
                if seen == 300:
                    break
            await consumer.commit(timeout=PATIENCE_S)
            assert kafka.commits("g") == {T0: 300}
            while seen < 503:
                seen += len(await consumer.poll(PATIENCE_S))
            assert await consumer.position(T0) == 503
        assert kafka.commits("g") == {T0: 503}
        async with AsyncAdmin(servers(kafka)) as admin:
            (await admin.create_topics([NewTopic("u", 2)])).raise_first()
            topics, groups = await asyncio.gather(admin.list_topics(), admin.list_groups(timeout=PATIENCE_S))
            assert ("u" in topics, "g" in groups.groups) == (True, True)
            with pytest.raises(TopicAlreadyExistsError):
                (await admin.create_topics([NewTopic("u", 2)])).raise_first()

    run(main())


def test_admin_waits_for_topics_and_fences_producers(kafka: KafkaSandbox, run: Run) -> None:
    async def body() -> None:
        async with AsyncAdmin(servers(kafka)) as admin:
            waiting = asyncio.create_task(admin.wait_for_topics(["late"], timeout=PATIENCE_S))
            await asyncio.sleep(0)
            kafka.create_topic("late", 1)
            assert list(await waiting) == ["late"]
            assert (await admin.fence_producers(["x"], timeout=PATIENCE_S))["x"].epoch == 0

    run(body())


def test_admin_call_ends_at_its_timeout_and_the_event_loop_runs_on(kafka: KafkaSandbox, run: Run) -> None:
    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        async with AsyncAdmin(servers(kafka)) as admin:
            await admin.list_topics()
            with kafka.freeze():
                with pytest.raises(ApiTimeout):
                    await admin.list_topics(timeout=0.1)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await admin.describe_cluster()
            assert "t" in await admin.list_topics(timeout=PATIENCE_S)
        assert ticks > 10
        ticking.cancel()

    run(main())


def test_clients_start_one_network_thread_and_no_other(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        before = set(threading.enumerate())

        def started() -> set[str]:
            return {one.name for one in set(threading.enumerate()) - before if not one.name.startswith("kctl-resolver")}

        async with AsyncAdmin(servers(kafka)) as admin:
            await admin.list_topics()
            assert started() == set()
        async with AsyncProducer(servers(kafka)) as producer, member(kafka) as consumer:
            await asyncio.gather(*(producer.send("t", b"x") for _ in range(100)))
            assert await consumer.poll(PATIENCE_S)
            assert len(started()) == 2

    asyncio.run(main())


def test_admin_calls_leave_no_descriptor_with_the_event_loop(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        watched = asyncio.get_running_loop()._selector.get_map()  # type: ignore[attr-defined]
        before = len(watched)
        async with AsyncAdmin(servers(kafka)) as admin:
            await admin.list_topics()
            assert len(watched) == before

    asyncio.run(main())


@pytest.mark.slow
def test_polls_that_time_out_at_any_point_lose_no_record(kafka: KafkaSandbox) -> None:
    fill(kafka, 2000)
    chance = random.Random(1)
    seen: list[bytes | None] = []

    async def main() -> None:
        async with member(kafka, max_poll_records=50, auto_commit_interval_ms=10) as consumer:
            while len(seen) < 2000:
                try:
                    records = await asyncio.wait_for(consumer.poll(1), chance.choice((0.0005, 0.002, 0.01, 1.5)))
                except TimeoutError:
                    continue
                seen.extend(record.value for record in records)

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert seen == [b"%d" % number for number in range(2000)]
    assert kafka.commits("g") == {T0: 2000}


def test_poll_that_finds_records_lets_other_tasks_run(kafka: KafkaSandbox) -> None:
    fill(kafka, 500)

    async def main() -> None:
        ticks: list[int] = []

        async def tick() -> None:
            while True:
                ticks.append(seen)
                await asyncio.sleep(0)

        async with member(kafka, max_poll_records=1) as consumer:
            seen = 0
            ticking = asyncio.create_task(tick())
            async for _ in consumer:
                seen += 1
                if seen == 500:
                    break
            ticking.cancel()
        assert len(set(ticks)) > 450

    asyncio.run(main())


def test_first_poll_in_a_thread_of_asyncio_warns_that_a_cancelled_one_loses_records(
    kafka: KafkaSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with member(kafka) as consumer:
            await consumer.poll(0)
        assert caplog.messages == []
        with Consumer(servers(kafka)) as blocking:
            blocking.assign([T0])
            for _ in range(2):
                await asyncio.to_thread(blocking.poll, 0)

    caplog.set_level("WARNING")
    asyncio.run(main())
    assert caplog.messages == ["poll() in an asyncio thread loses records if it is canceled: use AsyncConsumer"]


def test_future_of_a_synchronous_producer_is_awaited_and_outlives_a_cancelled_wait(kafka: KafkaSandbox) -> None:
    async def main() -> None:
        with Producer({**servers(kafka), "linger.ms": "50"}) as producer:
            futures = [producer.send("t", b"%d" % number) for number in range(3)]
            waiting = asyncio.ensure_future(futures[0])
            await asyncio.sleep(0)
            waiting.cancel()
            assert [(await future).offset for future in futures] == [0, 1, 2]
            assert (await futures[0]).offset == 0  # done already
            assert await producer.send_columns("t", [b"x", b"y"]) == 2
            assert waiting.cancelled()

    asyncio.run(main())


def test_error_of_an_awaited_future_is_raised_by_the_await(kafka: KafkaSandbox) -> None:
    kafka.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", times(1000))

    async def main() -> None:
        with Producer(servers(kafka)) as producer:
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send("t", b"x")
            with pytest.raises(KafkaError):
                await producer.send_columns("t", [b"x"])

    asyncio.run(main())


def test_clients_outlive_the_event_loop_that_they_were_used_on(kafka: KafkaSandbox) -> None:
    producer, consumer, admin = AsyncProducer(servers(kafka)), member(kafka), AsyncAdmin(servers(kafka))
    for number in range(3):

        async def main(number: int) -> None:
            assert (await producer.send("t", b"x")).offset == number
            assert [record.offset for record in await consumer.poll(PATIENCE_S)] == [number]
            assert "t" in (await asyncio.gather(admin.list_topics(), admin.list_topics()))[1]

        asyncio.run(main(number))

    async def close() -> None:
        await producer.close()
        await consumer.close()
        await admin.close()

    asyncio.run(close())
    assert kafka.commits("g") == {T0: 3}


def test_call_that_waits_while_the_event_loop_ends_is_ended(kafka: KafkaSandbox) -> None:
    """A program may end while a task waits: asyncio.run cancels the task."""
    ended: list[str] = []
    consumer = member(kafka)

    async def wait() -> None:
        try:
            await consumer.poll(1000)
        finally:
            ended.append("poll")

    async def main() -> None:
        global kept
        kept = asyncio.create_task(wait())
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert ended == ["poll"]
    asyncio.run(closed(consumer))


kept: "asyncio.Task[None] | None" = None


async def closed(client: AsyncConsumer | AsyncProducer) -> None:
    await client.close()


def test_listeners_see_the_context_of_the_call(kafka: KafkaSandbox) -> None:
    from kctl.client.consumer import RebalanceListener

    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")
    seen: list[str] = []

    class Noting(RebalanceListener):
        def on_partitions_assigned(self, topic_partitions: object) -> None:
            seen.append(name.get())

    async def main() -> None:
        async with member(kafka) as consumer:
            consumer.subscribe(["t"], Noting())
            name.set("reader")
            fill(kafka, 1)
            assert await consumer.poll(PATIENCE_S)

    asyncio.run(main())
    assert seen == ["reader"]


SERVICE_TESTS = """
import pytest
from kctl.client.aio import AsyncConsumer, AsyncProducer


@pytest.fixture
async def producer(kafka):
    async with AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        yield producer


@pytest.mark.parametrize("value", [b"1", b"2"])
@pytest.mark.kafka(brokers=1, topics={"orders": 1})
async def test_service(kafka, producer, value):
    assert (await producer.send("orders", value)).offset == 0
    assert [record.value for record in kafka.records("orders")] == [value]
"""


def test_fixtures_of_pytest_asyncio(tmp_path: Path) -> None:
    (tmp_path / "test_service.py").write_text(SERVICE_TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "kctl.pytest_plugin"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout


def test_package_without_greenlet_says_what_to_install() -> None:
    code = "import sys; sys.modules['greenlet'] = None\ntry: import kctl.client.aio\nexcept ImportError as e: print(e)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "kctl.client.aio needs greenlet: pip install 'kctl-kafka[aio]'\n"
