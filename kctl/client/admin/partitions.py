"""Partitions of topics: more of them. Shown by tests/sim/admin/test_partitions.py.

A request may be carried out although its response was lost; a topic that then has the wanted number is no error.
"""

from collections.abc import Iterator, Mapping

from kctl.client.admin.call import Call, Results, controller
from kctl.client.admin.topics import describe_topics, item_error
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, KafkaError
from kctl.client.protocol.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.retry import ADMIN_TOPICS


def create_partitions(call: Call, counts: Mapping[str, int], *, validate_only: bool) -> Results[str, None]:
    """Return the fate of each topic."""
    sent: dict[str, int] = {}

    def attempt(names: list[str]) -> dict[str, bool | KafkaError]:
        def build(timeout_ms: int) -> Request:
            sent.update({name: sent.get(name, 0) + 1 for name in names})
            entries = [CreatePartitionsTopic(name=name, count=counts[name], assignments=None) for name in names]
            return CreatePartitionsRequest(topics=entries, timeout_ms=timeout_ms, validate_only=validate_only)

        return call.ask_items(controller, build, CreatePartitionsResponse, names, read)

    def read(response: CreatePartitionsResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        for entry in response.results:
            error = item_error(call, entry.error_code, f"CreatePartitions {entry.name}", entry.error_message)
            yield entry.name, error or True

    results = call.each(counts, attempt, ADMIN_TOPICS.is_retried)
    repeated = [
        name
        for name, error in results.failed.items()
        if sent.get(name, 0) > 1 and isinstance(error, BrokerError) and error.code == ErrorCode.INVALID_PARTITIONS
    ]
    done = dict.fromkeys(results.done)
    if repeated:
        found = describe_topics(call, repeated).done
        done |= {name: None for name, info in found.items() if len(info.partitions) == counts[name]}
    return Results(done, {name: error for name, error in results.failed.items() if name not in done})
