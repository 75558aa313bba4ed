"""Aborts with batches in flight: after a run, a leader rejects batches or freezes, and a transaction is aborted.

All brokers are then healthy, before the next transaction or soon after a frozen leader delays its first record. The
transaction has to succeed soon.
"""

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer import Producer, SendFuture
from kctl.sandbox import Fault
from tests.sim.chaos.history import CLUSTER
from tests.sim.chaos.plan import NODES
from tests.sim.chaos_producer.plan import AbortPlan
from tests.sim.chaos_producer.producer_cluster import BOOTSTRAP, ProducerCluster
from tests.sim.virtual import sim_runtime

TOPIC = "aborted"
FAULTY, OTHER = 0, 1
"""Partitions. Only batches of the first one are rejected or expire."""
CALL_S = 30
BETWEEN_MS = 10
"""Time between the records of the next transaction, so that each one is a batch."""


def abort_with_batches_in_flight(world: ProducerCluster) -> None:
    """Play the aborts of the plan, and record the result and the time of the next transactions."""
    world.network.faults.heal()  # the fault of an input may begin after its last line
    world.sandbox.heal()
    if world.plan.aborts:
        world.sandbox.cluster.create_topic(TOPIC, 2)
    for number, plan in enumerate(world.plan.aborts):
        name = f"{TOPIC}-{number}"
        leader = world.partition(TopicPartition(TOPIC, FAULTY)).leader_id
        world.sandbox.move_transaction_coordinator(name, leader % NODES + 1)
        producer = Producer(_properties(name, plan), sim_runtime(world.hub, name, world.network, world.resolver))
        producer.init_transactions(CALL_S)
        in_flight, healthy_at_ms = _abort(world, producer, plan, leader)
        if not plan.freezes:
            world.hub.sleep_ms(max(0, healthy_at_ms - world.hub.now_ms))
        began_at_ms = max(healthy_at_ms, world.hub.now_ms)
        error = _commit_next(world, producer, is_other_first=plan.is_other_first)
        took_ms = world.hub.now_ms - began_at_ms
        producer.close(CALL_S)
        ended = {"took_ms": took_ms, "error": error, "in_flight": in_flight}
        world.history.event(CLUSTER, "after-abort", ended | plan._asdict())


def _properties(name: str, plan: AbortPlan) -> dict[str, object]:
    return {
        "bootstrap.servers": BOOTSTRAP,
        "transactional.id": name,
        "delivery.timeout.ms": plan.delivery_ms,
        "request.timeout.ms": plan.delivery_ms,
        "retry.backoff.ms": plan.backoff_ms,
        "retry.backoff.max.ms": plan.backoff_ms,
        "linger.ms": 0,
        "batch.size": 0,
    }


def _abort(world: ProducerCluster, producer: Producer, plan: AbortPlan, leader: int) -> tuple[int, int]:
    """Abort a transaction during the faults of a plan.

    Returns: the number of batches in flight at the abort, and the time at which the faults end.
    """
    hub, sandbox = world.hub, world.sandbox
    producer.begin_transaction()
    producer.send(TOPIC, b"first", partition=FAULTY).result(CALL_S)
    if plan.rejections:
        sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=plan.rejections, node_id=leader)
    if plan.delay_ms:
        sandbox.start_fault(leader, Fault.DELAY, ms=plan.delay_ms)

    def freeze(_: SendFuture) -> None:
        sandbox.start_fault(leader, Fault.FREEZE)

    for number in range(plan.batches):
        callback = freeze if plan.freezes and number == 0 else None
        producer.send(TOPIC, b"aborted", partition=FAULTY, callback=callback)
        hub.sleep_ms(plan.gap_ms)
    hub.sleep_ms(plan.abort_after_ms)
    in_flight = producer.metrics().batches_in_flight
    healthy_at_ms = hub.now_ms + plan.heal_after_ms
    hub.call_later_ms(plan.heal_after_ms, TOPIC, sandbox.heal)
    producer.abort_transaction(CALL_S)
    return in_flight, healthy_at_ms


def _commit_next(world: ProducerCluster, producer: Producer, *, is_other_first: bool) -> str:
    """Make a transaction with records of both partitions. Return its error, or an empty string."""
    try:
        producer.begin_transaction()
        for partition in (OTHER, FAULTY, FAULTY) if is_other_first else (FAULTY, FAULTY, OTHER):
            producer.send(TOPIC, b"next", partition=partition)
            world.hub.sleep_ms(BETWEEN_MS)
        producer.commit_transaction(CALL_S)
    except KafkaError as error:
        return f"{error!r}, because of {getattr(error, 'cause', None)!r}"
    return ""
