"""Feature levels, voters of the KRaft quorum, registered brokers. Source: KIP-584, KIP-853, KIP-500."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from kctl.client.admin.call import Call, Results, any_node, controller
from kctl.client.admin.changes import make_change
from kctl.client.admin.cluster_values import FeatureUpdate, VoterEndpoint
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicId
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.cluster import (
    AddRaftVoterRequest,
    AddRaftVoterRequestListener,
    AddRaftVoterResponse,
    FeatureUpdateKey,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kctl.client.requests.retry import ADMIN_TOPICS


def update_features(call: Call, updates: Mapping[str, FeatureUpdate], *, validate_only: bool) -> Results[str, None]:
    asked: list[str] = []

    def build(names: list[str], timeout_ms: int) -> UpdateFeaturesRequest:
        asked[:] = names
        return UpdateFeaturesRequest(
            timeout_ms=timeout_ms,
            feature_updates=[
                FeatureUpdateKey(
                    feature=name,
                    max_version_level=updates[name].level,
                    upgrade_type=updates[name].upgrade_type,
                )
                for name in names
            ],
            validate_only=validate_only,
        )

    def read(response: UpdateFeaturesResponse) -> Iterator[tuple[str, bool | KafkaError]] | KafkaError:
        error = item_error(call, response.error_code, "update features", response.error_message)
        return error or fates(response)

    def fates(response: UpdateFeaturesResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        for each in response.results:
            what = f"update feature {each.feature}"
            yield each.feature, item_error(call, each.error_code, what, each.error_message) or True
        if not response.results:
            yield from dict.fromkeys(asked, True).items()

    results = call.ask_each(updates, controller, build, UpdateFeaturesResponse, read, ADMIN_TOPICS.is_retried)
    return results.without_values()


def add_voter(call: Call, voter_id: int, directory_id: str | bytes, endpoints: list[VoterEndpoint]) -> None:
    directory = _uuid(directory_id)
    listeners = [AddRaftVoterRequestListener(name=name, host=host, port=port) for name, host, port in endpoints]

    def build(timeout_ms: int) -> AddRaftVoterRequest:
        return AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=timeout_ms,
            voter_id=voter_id,
            voter_directory_id=directory,
            listeners=listeners,
        )

    action = f"add voter {voter_id}"
    make_change(call, any_node, build, AddRaftVoterResponse, action=action, made=ErrorCode.DUPLICATE_VOTER)


def remove_voter(call: Call, voter_id: int, directory_id: str | bytes) -> None:
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=_uuid(directory_id))
    action, gone = f"remove voter {voter_id}", ErrorCode.VOTER_NOT_FOUND
    make_change(call, any_node, lambda _: request, RemoveRaftVoterResponse, action=action, made=gone)


def unregister_broker(call: Call, broker_id: int) -> None:
    request = UnregisterBrokerRequest(broker_id=broker_id)
    action, gone = f"unregister broker {broker_id}", ErrorCode.BROKER_ID_NOT_REGISTERED
    make_change(call, any_node, lambda _: request, UnregisterBrokerResponse, action=action, made=gone)


def _uuid(given: str | bytes) -> bytes:
    from base64 import urlsafe_b64decode

    try:
        if isinstance(given, str):
            given = UUID(given).bytes if "-" in given and len(given) == 36 else urlsafe_b64decode(given + "==")
    except ValueError:
        given = b""
    if len(given) != len(UUID(int=0).bytes):
        raise ValueError("directory_id must be 16 bytes or a Kafka UUID, such as directory.id in meta.properties")
    return TopicId(given)
