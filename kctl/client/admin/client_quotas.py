import math
from collections.abc import Iterator, Mapping, Sequence

from kctl.client.admin.call import Call, Results, any_node, broker, controller
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    OpData,
)
from kctl.client.protocol.schema import Request
from kctl.client.quotas import ENTITY_TYPES, QuotaEntity, Quotas
from kctl.client.requests.retry import ADMIN_GROUPS, ADMIN_TOPICS
from kctl.client.wording import one_line

_ANY_NAME = 2


def describe_client_quotas(
    call: Call, kinds: Sequence[str] = (), broker_id: int | None = None
) -> dict[QuotaEntity, Quotas]:
    route = any_node if broker_id is None else broker(broker_id)
    components = [ComponentData(entity_type=kind, match_type=_ANY_NAME, match=None) for kind in kinds]

    def attempt(keys: list[str]) -> dict[str, dict[QuotaEntity, Quotas] | KafkaError]:
        request = DescribeClientQuotasRequest(components=components, strict=False)
        response = call.ask(route, lambda _: request, DescribeClientQuotasResponse)
        if response.error_code:
            error = broker_error(response.error_code, "describe quotas", response.error_message)
            return dict.fromkeys(keys, error)
        return dict.fromkeys(keys, _described(response))

    return call.each([""], attempt, ADMIN_GROUPS.is_retried)[""]


def alter_client_quotas(
    call: Call, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool
) -> Results[QuotaEntity, None]:
    def build(pending: list[QuotaEntity], _timeout_ms: int) -> Request:
        entries = [_altering(each, changes[each]) for each in pending]
        return AlterClientQuotasRequest(entries=entries, validate_only=validate_only)

    def read(response: AlterClientQuotasResponse) -> Iterator[tuple[QuotaEntity, bool | KafkaError]]:
        for entry in response.entries:
            found = _entity(entry.entity, response.NAME)
            what = f"alter quotas of {one_line(str(found))}"
            yield found, item_error(call, entry.error_code, what, entry.error_message) or True

    results = call.ask_each(changes, controller, build, AlterClientQuotasResponse, read, ADMIN_TOPICS.is_retried)
    return results.without_values()


def _altering(entity: QuotaEntity, changes: Mapping[str, float | None]) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in changes.items()
        ],
    )


def _described(response: DescribeClientQuotasResponse) -> dict[QuotaEntity, Quotas]:
    found: dict[QuotaEntity, Quotas] = {}
    for entry in response.entries or ():
        one = _entity(entry.entity, response.NAME)
        if one in found:
            raise RemoteProtocolError(
                f"the {response.NAME} response contains {one_line(str(one))} twice", api=response.NAME
            )
        found[one] = {each.key: each.value for each in entry.values if math.isfinite(each.value)}
    return found


def _entity(parts: Sequence[EntityData], api: str) -> QuotaEntity:
    names: dict[str, str | None] = {each.entity_type: each.entity_name for each in parts}
    unknown = sorted(names.keys() - set(ENTITY_TYPES))
    if unknown or len(names) < len(parts) or not names:
        kinds = ", ".join(one_line(each.entity_type) for each in parts) or "no type"
        raise RemoteProtocolError(f"the {api} response contains an entity with invalid types: {kinds}", api=api)
    return QuotaEntity.of(names)
