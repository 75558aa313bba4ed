"""Producer ids: InitProducerId request and response.

Source: KIP-98, KIP-360. Any broker assigns ids; with a transactional.id only its coordinator does.
"""

from typing import NamedTuple

from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_TIMEOUT_MS = 2**31 - 1
"""Transaction timeout of a producer without transactions."""


class ProducerId(NamedTuple):
    producer_id: int
    epoch: int

    @property
    def is_assigned(self) -> bool:
        """Return whether a broker can assign this id. Negative numbers mean that there is no id."""
        return self.producer_id >= 0 and self.epoch >= 0


NO_PRODUCER_ID = ProducerId(-1, -1)


def init_producer_id(
    transactional_id: str | None = None, timeout_ms: int = NO_TIMEOUT_MS, current: ProducerId = NO_PRODUCER_ID
) -> InitProducerIdRequest:
    """Return the request for a producer id, or for the next epoch of `current`."""
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=current.producer_id,
        producer_epoch=current.epoch,
    )


def producer_id_in(response: InitProducerIdResponse) -> ProducerId | KafkaError:
    if response.error_code:
        return broker_error(response.error_code, "obtain a producer id")
    assigned = ProducerId(response.producer_id, response.producer_epoch)
    if assigned.is_assigned:
        return assigned
    text = f"cannot obtain a producer id: the InitProducerId response contains id {assigned.producer_id}"
    return RemoteProtocolError(f"{text}, epoch {assigned.epoch}", api="InitProducerId")
