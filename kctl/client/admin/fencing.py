"""Fencing of producers by transactional.id: InitProducerId at the coordinator increments the epoch (KIP-664)."""

from collections.abc import Iterable, Iterator

from kctl.client.admin.call import Call, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.requests.find_coordinator import KeyType
from kctl.client.requests.producer_id import ProducerId, init_producer_id, producer_id_in

TRANSACTION_TIMEOUT_MS = 60_000
"""Transaction timeout in the request: the default of Java's producers. No transaction uses it."""


def fence_producers(call: Call, transactional_ids: Iterable[str]) -> Results[str, ProducerId]:
    asked: list[str] = []

    def build(_node_id: int, ids: list[str]) -> InitProducerIdRequest:
        asked[:] = ids
        return init_producer_id(ids[0], TRANSACTION_TIMEOUT_MS)

    def read(response: InitProducerIdResponse) -> Iterator[tuple[str, ProducerId | KafkaError]]:
        yield asked[0], producer_id_in(response)

    results: Results[str, ProducerId] = Results({}, {})
    for transactional_id in dict.fromkeys(transactional_ids):
        found = Coordinators(call, KeyType.TRANSACTION).each_group([transactional_id], build, read)
        results.done |= found.done
        results.failed |= found.failed
    return results
