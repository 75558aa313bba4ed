"""One run of several clients against a sandbox with faults; prints its trace hash. Started by test_replay.py."""

import sys

from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kctl.client.protocol.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kctl.sandbox import Fault, Sandbox
from tests.sim.sandbox.peer import Lost, SimPeer
from tests.sim.virtual import Hub, LinkProfile, SimNetwork
from tests.unit.sandbox.scenario import batch

CHAOS_MS = 3_000


def _client(hub: Hub, network: SimNetwork, name: str) -> None:
    rng = hub.rng(f"app.{name}")
    peer = SimPeer(hub, network, name)
    channel = 0
    while hub.now_ms < CHAOS_MS:
        channel += 1
        node_id = rng.randint(1, 3)
        try:
            if peer.connect(channel, node_id, limit_ms=200):
                _talk(peer, channel, rng.randint(0, 2), f"{name}-{channel}".encode())
        except Lost as error:
            hub.trace(name, f"lost: {error}")
        hub.sleep_ms(rng.randint(1, 50))
    peer.selector.shutdown()


def _talk(peer: SimPeer, channel: int, partition: int, value: bytes) -> None:
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    if peer.call(channel, metadata, MetadataResponse, 12, 100) is None:
        return
    data = [PartitionProduceData(index=partition, records=batch(value))]
    produce = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    produced = peer.call(channel, produce, ProduceResponse, 9, 200)
    asked = [FetchPartition(partition=partition, partition_max_bytes=10_000)]
    fetch = FetchRequest(max_wait_ms=40, min_bytes=1, topics=[FetchTopic(topic="t", partitions=asked)])
    if produced is not None:
        peer.call(channel, fetch, FetchResponse, 12, 200)


def trace_hash(seed: int) -> str:
    """Return the trace hash of the run of `seed`."""
    with Hub(seed) as hub:
        network = SimNetwork(hub, LinkProfile(latency_ms=1, jitter_ms=4, segment_bytes=400))
        sandbox = Sandbox(3, topics={"t": 3})
        sandbox.attach(network)
        plan = hub.rng("plan")
        for fault in Fault:
            at_ms, node_id = plan.randint(0, CHAOS_MS), plan.randint(1, 3)
            ms = 30 if fault is Fault.DELAY else 0
            start = lambda node_id=node_id, fault=fault, ms=ms: sandbox.start_fault(node_id, fault, ms=ms)  # noqa: E731 - a def would say no more
            hub.call_later_ms(at_ms, "plan", start)
            hub.call_later_ms(at_ms + 400, "plan", lambda node_id=node_id: sandbox.heal(node_id))  # type: ignore[misc]  # a bound default
        for number in range(4):
            hub.spawn(f"c{number}", lambda number=number: _client(hub, network, f"c{number}"))  # type: ignore[misc]  # a bound default
        hub.run()
        for partition in sandbox.cluster.topics["t"].partitions.values():
            assert partition.log.is_contiguous()
            hub.trace("log", b"".join(stored.data for stored in partition.log.batches).hex())
        return hub.trace_hash


if __name__ == "__main__":
    sys.stdout.write(trace_hash(int(sys.argv[1])))
