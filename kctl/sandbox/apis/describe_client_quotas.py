"""DescribeClientQuotas: the quotas of entities that match all components."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from kctl.client.quotas import ENTITY_TYPES, IP, QuotaEntity
from kctl.sandbox.call import Call, Handler

_EXACT, _DEFAULT, _ANY = 0, 1, 2


def _answer(call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    wrong = _mistake(request.components)
    if wrong is not None:
        code, text = wrong
        return DescribeClientQuotasResponse(error_code=code, error_message=text, entries=None)
    quotas = call.cluster.client_quotas.of
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in quotas.items()
            if _matches(request, entity)
        ],
    )


def _component_mistake(each: ComponentData, *, is_repeated: bool) -> tuple[ErrorCode, str] | None:
    if each.entity_type == "":
        return ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type"
    if each.entity_type not in ENTITY_TYPES:
        return ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type {each.entity_type} not supported"
    if is_repeated:
        return ErrorCode.INVALID_REQUEST, f"Duplicate {each.entity_type} filter component entity type"
    if (each.match_type == _EXACT) != (each.match is not None):
        text = f"Request specified {each.match_type}, but set the match string"
        if each.match is None:
            text = f"Request specified {each.match_type}, but did not set the match string"
        return ErrorCode.INVALID_REQUEST, text
    if each.match_type not in (_EXACT, _DEFAULT, _ANY):
        return ErrorCode.INVALID_REQUEST, f"Unknown match type {each.match_type}"
    return None


def _mistake(components: list[ComponentData]) -> tuple[ErrorCode, str] | None:
    kinds = [each.entity_type for each in components]
    for each in components:
        mistake = _component_mistake(each, is_repeated=kinds.count(each.entity_type) > 1)
        if mistake is not None:
            return mistake
    if IP in kinds and len(kinds) > 1:
        text = (
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )
        return ErrorCode.INVALID_REQUEST, text
    return None


def _matches(request: DescribeClientQuotasRequest, entity: QuotaEntity) -> bool:
    parts = dict(entity.parts)
    if request.strict and len(parts) != len(request.components):
        return False
    for each in request.components:
        if each.entity_type not in parts:
            return False
        name = parts[each.entity_type]
        if each.match_type == _EXACT and name != each.match:
            return False
        if each.match_type == _DEFAULT and name is not None:
            return False
    return True


HANDLER = Handler(DescribeClientQuotasRequest, 0, 1, _answer)
