"""Records at the edges of a program's life on real Kafka: what is accepted arrives, what comes meanwhile is read.

Each test shows a loss that a public report or a run against brokers has shown.
"""

import asyncio
import gzip
import json
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client import Admin, Consumer, ConsumerRecord, Producer, RecordMetadata, TopicPartition
from kctl.client.admin import ConfigResource, NewTopic, ResourceType
from kctl.client.aio import AsyncConsumer, AsyncProducer
from kctl.client.clock import SystemClock
from kctl.client.consumer import RebalanceListener
from tests.broker.damaging_proxy import DamagingProxy
from tests.cli.processes import Ended, end, kctl, running
from tests.support.bounds import bound
from tests.support.in_process import run_in_process
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

PATIENCE_S = bound(60)
PATIENCE_MS = bound(60_000)
OFFSET_COMMIT, JOIN_GROUP = 8, 11
LATE_S = 0.7
"""How late the responses to joins come: a commit of the generation before is sent meanwhile."""
PROGRAM = """
import sys
from kctl.client import Consumer, Producer
servers, topic = sys.argv[1:]
producer = Producer({"bootstrap.servers": servers, "linger.ms": 60_000})
for _ in range(1000): producer.send(topic, b"x" * 100)
transactional = Producer({"bootstrap.servers": servers, "transactional.id": topic})
transactional.init_transactions(); transactional.begin_transaction()
transactional.send(topic, b"in a transaction").result()
consumer = Consumer({"bootstrap.servers": servers, "group.id": topic})
consumer.subscribe([topic])
while not consumer.assignment: consumer.poll(0.1)
"""


def lines(*numbers: int) -> bytes:
    return b"".join(b"%d\n" % number for number in numbers)


def produce(kafka: KafkaCluster, topic: str, numbers: Sequence[int], partition: int = 0) -> None:
    """Write these numbers as values."""
    with Producer({"bootstrap.servers": kafka.bootstrap()}) as producer:
        producer.send_columns(topic, [b"%d" % number for number in numbers], partition=partition)


def consume(kafka: KafkaCluster, *words: str) -> list[int]:
    """Return what a `kctl consume` that ends well prints."""
    ended = kctl("consume", *words, "-b", kafka.bootstrap())
    assert ended.code == ExitCode.OK, ended
    return [int(line) for line in ended.stdout.split()]


def port_of(kafka: KafkaCluster) -> int:
    return int(kafka.bootstrap().rpartition(":")[2])


@contextmanager
def beside(action: Callable[[], object]) -> Iterator[None]:
    """Run an action in another thread while the body lasts; its failure is that of the test."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failures:
        raise failures[0]


def test_program_that_ends_without_close_delivers_leaves_and_aborts(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    command = [sys.executable, "-c", PROGRAM, kafka_newest.bootstrap(), topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert f"transaction {topic} aborted" in done.stderr
    with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
        assert admin.describe_groups([topic]).done[topic].members == ()
        assert admin.describe_transactions([topic]).done[topic].state in ("PrepareAbort", "CompleteAbort")
    read = kctl("consume", topic, "-e", "--isolation-level", "read_committed", "-b", kafka_newest.bootstrap())
    assert read.stdout.split() == [b"x" * 100] * 1000


def test_one_name_in_place_of_a_list_deletes_nothing(kafka_newest: KafkaCluster) -> None:
    name = "KR"
    with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
        names = [*name, name]
        admin.create_topics([NewTopic(each, 1, 1) for each in names]).raise_first()
        with pytest.raises(TypeError, match="a list of strings"):
            admin.delete_topics(name)
        assert set(names) <= set(admin.list_topics())
        admin.delete_topics(names).raise_first()


def value_of(record: ConsumerRecord) -> int:
    return int(record.value or b"")


@pytest.mark.nightly
def test_records_go_through_a_pool_of_processes(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest, topic, range(20))
    with Consumer({"bootstrap.servers": kafka_newest.bootstrap(), "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        records: list[ConsumerRecord] = []
        while len(records) < 20:
            records += consumer.poll(1)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(value_of, records, timeout=PATIENCE_S)) == list(range(20))


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("start", ["end", pytest.param("@-1h", marks=pytest.mark.nightly)])
def test_group_continues_where_each_partition_began(kafka_newest: KafkaCluster, protocol: str, start: str) -> None:
    topic = kafka_newest.create_topic(partitions=3)
    member = (topic, "-g", topic, "-o", start, "-X", f"group.protocol={protocol}")
    assert consume(kafka_newest, *member, "--idle-timeout", "2s") == []
    for partition in range(3):
        produce(kafka_newest, topic, [partition], partition)
    assert sorted(consume(kafka_newest, *member, "-e")) == [0, 1, 2]


def test_last_commit_is_sent_again_after_a_lost_response(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest, topic, range(50))

    def lose(_frame: bytes) -> bytes:
        raise EOFError

    with DamagingProxy(port_of(kafka_newest)) as proxy:

        def run() -> Ended:
            words = ("consume", topic, "-g", topic, "-o", "start", "-e", "-b", kafka_newest.bootstrap())
            return run_in_process(*words, runtime=proxy.runtime())

        proxy.damage(OFFSET_COMMIT, lose)
        first = run()
        assert (first.code, len(first.stdout.split())) == (ExitCode.OK, 50), first
        assert not proxy.is_pending(OFFSET_COMMIT)
        again = run()
        assert (again.code, again.stdout) == (ExitCode.OK, b""), again


@pytest.mark.parametrize("group", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_reader_of_a_recreated_topic_reads_the_new_one(kafka_newest: KafkaCluster, tmp_path: Path, group: bool) -> None:
    topic, trace = kafka_newest.create_topic(), tmp_path / "trace"
    produce(kafka_newest, topic, range(20))

    def recreate() -> None:
        with Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin:
            wait_until(lambda: trace.exists() and b'"Fetch"' in trace.read_bytes(), PATIENCE_MS, "a fetch")
            admin.delete_topics([topic]).raise_first()
            wait_until(lambda: topic not in admin.list_topics(), PATIENCE_MS, "the end of the topic")
            admin.create_topics([NewTopic(topic, 1, 1)]).raise_first()
        produce(kafka_newest, topic, range(100, 130))

    words = [topic, "-o", "start", "-n", "50", "--trace-file", str(trace), "-X", "metadata.max.age.ms=500"]
    with beside(recreate):
        read = consume(kafka_newest, *words, *(["-g", topic] if group else []))
    assert read == [*range(20), *range(100, 130)]


@pytest.mark.nightly
def test_hangup_lets_a_member_leave_and_aborts_a_transaction(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    servers = ("-b", kafka_newest.bootstrap())
    with (
        Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin,
        running("consume", topic, "-g", topic, *servers) as member,
        running("produce", topic, "--transactional-id", topic, *servers) as producer,
    ):
        assert producer.stdin is not None
        producer.stdin.write(b"1\n")
        producer.stdin.flush()

        def have_begun() -> bool:
            group = admin.describe_groups([topic]).done.get(topic)
            transaction = admin.describe_transactions([topic]).done.get(topic)
            return (
                group is not None and bool(group.members) and transaction is not None and transaction.state == "Ongoing"
            )

        wait_until(have_begun, PATIENCE_MS, "the member and the transaction")
        assert end(member, signal.SIGHUP).code == ExitCode.SIGHUP
        assert admin.describe_groups([topic]).done[topic].members == ()
        assert end(producer, signal.SIGHUP).code == ExitCode.SIGHUP
        assert admin.describe_transactions([topic]).done[topic].state in ("PrepareAbort", "CompleteAbort")


def test_batches_fill_again_after_a_topic_has_refused_them(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    with (
        Admin({"bootstrap.servers": kafka_newest.bootstrap()}) as admin,
        Producer({"bootstrap.servers": kafka_newest.bootstrap(), "linger.ms": 5}) as producer,
    ):

        def allow(most_bytes: str | None) -> None:
            resource = ConfigResource(ResourceType.TOPIC, topic)
            admin.alter_configs({resource: {"max.message.bytes": most_bytes}}).raise_first()

        def send(count: int) -> int:
            """Return how many batches it took."""
            before = producer.metrics().batches_sent
            for _ in range(count):
                producer.send(topic, bytes(90), partition=0)
            producer.flush(PATIENCE_S)
            return producer.metrics().batches_sent - before

        allow("1000")

        def is_split() -> bool:
            send(60)
            return producer.metrics().batches_split > 0

        wait_until(is_split, PATIENCE_MS, "a batch that is refused")
        allow(None)
        wait_until(lambda: send(2000) <= 40, PATIENCE_MS, "full batches")


class Losses(RebalanceListener):
    """Counts what a member loses."""

    def __init__(self) -> None:
        self.lost: list[TopicPartition] = []

    def on_partitions_lost(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.lost += topic_partitions


def test_member_that_commits_while_its_join_is_answered_late_keeps_its_partitions(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic(partitions=4)
    produce(kafka_newest, topic, range(100))
    properties = {
        "bootstrap.servers": kafka_newest.bootstrap(), "group.id": topic, "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "cooperative-sticky", "heartbeat.interval.ms": 300,
        "enable.auto.commit": "false",
    }  # fmt: skip
    losses, is_over = Losses(), threading.Event()

    def delay(frame: bytes) -> bytes:
        threading.Event().wait(LATE_S)
        return frame

    def join_for_a_moment() -> None:
        try:
            with Consumer(properties) as other:
                other.subscribe([topic])
                wait_until(lambda: bool(other.poll(0.1) or other.assignment), PATIENCE_MS, "a share")
        finally:
            is_over.set()

    with DamagingProxy(port_of(kafka_newest)) as proxy, Consumer(properties, proxy.runtime()) as member:
        member.subscribe([topic], losses)
        wait_until(lambda: bool(member.poll(0.1) and len(member.assignment) == 4), PATIENCE_MS, "all partitions")
        for _ in range(20):
            proxy.damage(JOIN_GROUP, delay)
        with beside(join_for_a_moment):
            while not is_over.is_set() or len(member.assignment) < 4:
                member.poll(0.02)
                member.commit_sync({tp: member.position(tp) for tp in member.assignment}, timeout=PATIENCE_S)
        assert proxy.damaged.count(JOIN_GROUP) >= 2
        assert losses.lost == []


def test_input_of_a_broker_that_stands_still_is_accounted_for(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    topic, file, kept = kafka_newest.create_topic(), tmp_path / "lines", tmp_path / "kept"
    file.write_bytes(lines(*range(1, 501)))
    servers = ("-b", kafka_newest.bootstrap())
    node = kafka_newest.node(1)
    node.freeze()
    try:
        ended = kctl(
            "produce", topic, str(file), "--api-timeout", "2s", "--rate", "20/s", "--undelivered", str(kept), *servers
        )
    finally:
        node.thaw()
    assert ended.code != ExitCode.OK
    stopped = re.search(r"no input after \S+ line (\d+) \(byte \d+\) was read", ended.stderr)
    assert stopped is not None, ended
    assert kctl("produce", "-i", "jsonl", "--topic-from-record", str(kept), *servers).code == ExitCode.OK
    assert kctl("produce", topic, *servers, stdin=lines(*range(int(stopped[1]) + 1, 501))).code == ExitCode.OK
    assert sorted(consume(kafka_newest, topic, "-e")) == list(range(1, 501))
    assert len({json.loads(line)["value"] for line in kept.read_bytes().splitlines()}) == int(stopped[1])


def test_coroutines_that_are_cancelled_lose_and_repeat_no_record(kafka_newest: KafkaCluster) -> None:
    topic = kafka_newest.create_topic()
    servers = {"bootstrap.servers": kafka_newest.bootstrap()}
    properties = {"group.id": topic, "auto.offset.reset": "earliest", "max.poll.records": 10}
    chance, seen, cancelled = random.Random(1), list[int](), 0
    until_ms = SystemClock().now_ms() + PATIENCE_MS

    async def read(consumer: AsyncConsumer) -> None:
        if chance.random() < 0.5:
            seen.extend(map(value_of, await consumer.poll(1)))
            return
        left = chance.randrange(1, 30)
        async for record in consumer:
            seen.append(value_of(record))
            left -= 1
            if left == 0:
                return

    async def main() -> None:
        nonlocal cancelled
        async with AsyncProducer(servers) as producer, AsyncConsumer({**servers, **properties}) as consumer:
            consumer.subscribe([topic])
            sent = 0
            sending: asyncio.Future[list[RecordMetadata]] = asyncio.gather()
            while (cancelled < 200 or len(seen) < sent) and SystemClock().now_ms() < until_ms:
                if cancelled < 200 and sent - len(seen) < 20:
                    sending = asyncio.gather(*(producer.send(topic, b"%d" % (sent + at)) for at in range(20)))
                    sent += 20
                try:
                    async with asyncio.timeout(chance.choice((0.0002, 0.0005, 0.001, 0.002, 0.005, 0.1))):
                        await read(consumer)
                except TimeoutError:
                    cancelled += 1
                await sending
            assert (seen, cancelled >= 200) == (list(range(sent)), True)

    asyncio.run(main())
    assert consume(kafka_newest, topic, "-g", topic, "-e") == []


def test_gzip_with_bytes_behind_its_end_is_read_as_by_java(
    kafka_newest: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker decompresses such a batch, and takes it."""
    topic = kafka_newest.create_topic()
    with monkeypatch.context() as patched:
        patched.setattr(
            "kctl.client.records._hot.builder.compress",
            lambda _codec, data, _level=None: gzip.compress(data) + bytes(9),
        )
        with Producer({"bootstrap.servers": kafka_newest.bootstrap(), "compression.type": "gzip"}) as producer:
            for number in range(40):
                producer.send(topic, b"%d" % number)
    assert consume(kafka_newest, topic, "-e") == list(range(40))
