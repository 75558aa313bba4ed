"""Changes of one call that were sent without a final response."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, KafkaError, LocalProtocolError, UnsupportedVersionError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Request

CHANGES = frozenset(
    {
        "AddRaftVoter",
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterReplicaLogDirs",
        "AlterShareGroupOffsets",
        "AlterUserScramCredentials",
        "CreateAcls",
        "CreateDelegationToken",
        "CreatePartitions",
        "CreateTopics",
        "DeleteAcls",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteShareGroupOffsets",
        "DeleteTopics",
        "ElectLeaders",
        "ExpireDelegationToken",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "RemoveRaftVoter",
        "RenewDelegationToken",
        "UnregisterBroker",
        "UpdateFeatures",
        "WriteTxnMarkers",
    }
)
"""APIs of the admin client that change something."""


class Unconfirmed:
    def __init__(self) -> None:
        self._in_flight: dict[int, None] = {}
        self._lost: dict[int, None] = {}

    def sent(self, node_id: int, request: Request) -> bool:
        """Record a request if it is a change; return whether it is."""
        is_change = request.NAME in CHANGES and not getattr(request, "validate_only", False)
        if is_change:
            self._in_flight[node_id] = None
        return is_change

    def ended(self, answer: Answer) -> None:
        self._in_flight.pop(answer.node_id, None)
        was_encoded = not isinstance(answer.error, UnsupportedVersionError | LocalProtocolError)
        if answer.response is None and answer.was_sent and was_encoded:
            self._lost[answer.node_id] = None

    def left_open(self, node_id: int) -> None:
        """Record that a broker may complete a change later."""
        self._lost[node_id] = None

    def has(self, node_id: int) -> bool:
        return node_id in self._in_flight or node_id in self._lost

    def mark(self, error: KafkaError, node_id: int | None = None) -> KafkaError:
        """Return the error, marked if broker `node_id` (None: any) may have made the change."""
        is_unknown = self.has(node_id) if node_id is not None else bool(self._in_flight or self._lost)
        return with_unknown_outcome(error) if is_unknown else error


def with_unknown_outcome(error: KafkaError) -> KafkaError:
    if error.outcome_unknown:
        return error
    marked = error.without_traceback()
    marked.outcome_unknown = True
    return marked


def is_left_open(error: object, api: str) -> bool:
    """Return whether a broker reports that it may complete the change later."""
    return api in CHANGES and isinstance(error, BrokerError) and error.code == ErrorCode.REQUEST_TIMED_OUT
