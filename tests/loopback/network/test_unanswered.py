"""Produce with acks=0 to a node that reads nothing: not done while its bytes are ours, failed when it hangs up."""

from kctl.client.cluster import Node
from kctl.client.config import ProducerConfig
from kctl.client.errors import ConnectionLost
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient
from kctl.client.network.system import system_runtime
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kctl.sandbox import Sandbox
from kctl.sandbox.faults import Fault
from tests.support.bounds import bound

PATIENCE_MS = bound(30_000)


def test_a_request_without_an_answer_is_done_only_when_its_bytes_have_left() -> None:
    with Sandbox(nodes=1).serve() as served:
        runtime = system_runtime()
        client = NetworkClient(ProducerConfig.parse({"bootstrap.servers": served.bootstrap}), runtime)
        host, port = served.listens_on(1)
        client.set_nodes([Node(1, host, port)])
        deadline_at_ms = runtime.clock.start_ms() + PATIENCE_MS
        while not client.ready(1) and runtime.clock.now_ms() < deadline_at_ms:
            client.poll(runtime.clock.now_ms() + 100)
        served.sandbox.start_fault(1, Fault.FREEZE)
        answers: list[Answer] = []
        partition = PartitionProduceData(index=0, records=bytes(32 * 1024 * 1024))
        request = ProduceRequest(acks=0, topic_data=[TopicProduceData(name="t", partition_data=[partition])])
        client.send(Outgoing(1, request, 1000, answers.append, max_version=12, expect_response=False))
        for _ in range(5):
            client.poll(runtime.clock.now_ms() + 20)
        assert answers == []
        client.disconnect(1, "test")
        client.poll(0)
        assert [type(answer.error) for answer in answers] == [ConnectionLost]
        client.close()
