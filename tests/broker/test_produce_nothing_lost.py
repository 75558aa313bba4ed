"""What kctl produces while leaders of three real brokers are killed and frozen, one at a time, with acks=all.

Nothing that was acknowledged is missing, nothing appears twice, each partition keeps its order, and what is told as
certainly not written is not there; transactions are seen whole or not at all by Java's read_committed consumer. Five
producers run at once under the same blows: two processes and a library that write numbers, one of the processes with so
little time that it loses some; processes that write transactions; a program that copies a topic exactly once.
`make soak` strikes 20 times, CI a few times; the plan follows from the seed, which is in the names of the tests.
"""

import os
import sys
from collections import Counter
from contextlib import ExitStack
from random import Random
from threading import Event
from typing import NamedTuple

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.broker.producing import PARTITIONS, CommandRun, LibraryRun, ProduceReport, check_log
from tests.broker.transacting import Copier, TransactionEnd, Transactions, check_transactions
from tests.conformance.foreign import CONFLUENT, JAVA
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_for_markers

BLOWS = int(os.environ.get("KCTL_SOAK_BLOWS", "3"))
SEED = int(os.environ.get("KCTL_SOAK_SEED", "1"))
KINDS = ("kill", "freeze", "freeze for long")
LASTS_MS = {"kill": (0, 2_000), "freeze": (500, 2_000), "freeze for long": (7_000, 9_000)}
"""Who is frozen for long loses what it leads (broker.session.timeout.ms is 6 s), the other keeps it."""
READ_S = 120.0


class Blow(NamedTuple):
    """What is done to the leader of a partition of one of the topics."""

    kind: str
    topic: int
    partition: int
    after_ms: int
    lasts_ms: int


class Story(NamedTuple):
    """What the producers told, and where their records are."""

    kafka: KafkaCluster
    topics: tuple[str, ...]
    patient: ProduceReport
    hasty: ProduceReport
    library: ProduceReport
    transactions: list[TransactionEnd]


def make_plan(seed: int, count: int, topics: int) -> list[Blow]:
    """Return the blows of a seed; every kind comes once before one comes again."""
    rng = Random(seed)
    plan: list[Blow] = []
    while len(plan) < count:
        for kind in rng.sample(KINDS, len(KINDS)):
            topic, partition = rng.randrange(topics), rng.randrange(PARTITIONS)
            plan.append(Blow(kind, topic, partition, rng.randint(500, 1500), rng.randint(*LASTS_MS[kind])))
    return plan[:count]


def _strike(kafka: KafkaCluster, topic: str, blow: Blow) -> None:
    """Do it to who leads now, and undo it before the next."""
    leader = kafka.leader(topic, blow.partition)
    if blow.kind == "kill":
        leader.kill()
        Event().wait(blow.lasts_ms / 1000)
        leader.start()
    else:
        leader.freeze()
        Event().wait(blow.lasts_ms / 1000)
        leader.thaw()
        kafka.wait_ready()


@pytest.fixture(scope="module", params=[(SEED, BLOWS)], ids=lambda value: f"seed {value[0]}, {value[1]} blows")
def story(request: pytest.FixtureRequest, kafka_three: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Story:
    have(JAVA.require)
    have(CONFLUENT.require)
    folder = tmp_path_factory.mktemp("produced")
    bootstrap = kafka_three.bootstrap()
    topics = tuple(
        kafka_three.create_topic(partitions=PARTITIONS, configs={"min.insync.replicas": "2"}) for _ in range(5)
    )
    seed, blows = request.param
    library_properties: dict[str, object] = {"bootstrap.servers": bootstrap, "request.timeout.ms": 2_000}
    with ExitStack() as stack:
        patient = stack.enter_context(CommandRun(folder, bootstrap, topics[0], "--request-timeout", "3s"))
        # less than the 6 s after which a frozen leader loses its partitions, enough for the first metadata under load
        limits = ("--request-timeout", "1s", "--delivery-timeout", "4s")
        hasty = stack.enter_context(CommandRun(folder, bootstrap, topics[1], *limits))
        library = stack.enter_context(LibraryRun(topics[2], library_properties))
        transactions = stack.enter_context(Transactions(bootstrap, topics[3]))
        copier = stack.enter_context(Copier(bootstrap, topics[2], topics[4], request_timeout_ms=3_000))
        plan = make_plan(seed, blows, len(topics))
        for blow in plan:
            Event().wait(blow.after_ms / 1000)
            _strike(kafka_three, topics[blow.topic], blow)
        told = (patient.stop(), hasty.stop(), library.stop())
        ended = transactions.stop()
        copier.stop()
    names = ("a process", "a process with little time", "the library")
    ends = Counter(f"{end.kind}: {end.code}" for end in ended)
    sys.stdout.write(f"\nblows: {Counter(blow.kind for blow in plan)}\n")
    sys.stdout.write("".join(f"{name}: {one}\n" for name, one in zip(names, told, strict=True)))
    sys.stdout.write(f"transactions and exit codes: {dict(sorted(ends.items()))}\n")
    sys.stdout.write(f"copied in {copier.commits} transactions, {copier.aborts} more were aborted\n")
    return Story(kafka_three, topics, *told, ended)


def test_a_process_delivers_everything(story: Story) -> None:
    assert story.patient.lost == {}
    check_log(story.patient, CONFLUENT.consume_all(story.kafka.bootstrap(), story.topics[0], deadline_s=READ_S))


def test_a_process_with_little_time_tells_what_it_lost(story: Story) -> None:
    assert story.hasty.lost, "no blow lasted longer than --delivery-timeout"
    check_log(story.hasty, CONFLUENT.consume_all(story.kafka.bootstrap(), story.topics[1], deadline_s=READ_S))


def test_the_library_tells_every_offset(story: Story) -> None:
    assert story.library.lost == {}
    check_log(story.library, CONFLUENT.consume_all(story.kafka.bootstrap(), story.topics[2], deadline_s=READ_S))


def test_transactions_of_processes_are_seen_whole_or_not_at_all(story: Story) -> None:
    assert {end.kind for end in story.transactions if end.code == 0} == {"whole"}
    bugs = [end for end in story.transactions if end.code == ExitCode.UNEXPECTED]
    assert bugs == []
    assert story.transactions[-1].code == 0, story.transactions[-1]
    wait_for_markers(story.kafka.bootstrap(), story.topics[3])
    seen = JAVA.consume_all(story.kafka.bootstrap(), story.topics[3], "read_committed", deadline_s=READ_S)
    check_transactions(story.transactions, seen)


def test_a_copy_has_each_record_once(story: Story) -> None:
    wait_for_markers(story.kafka.bootstrap(), story.topics[4])
    seen = JAVA.consume_all(story.kafka.bootstrap(), story.topics[4], "read_committed", deadline_s=READ_S)
    check_log(story.library._replace(offsets={}), seen)
