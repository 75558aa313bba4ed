"""AlterClientQuotas: sets and removes the quotas of each entity, either all or none."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from kctl.sandbox.access.client_quotas import QuotaRefused, checked_entity
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    entries = [_alter(call, each, validate_only=request.validate_only) for each in request.entries]
    return AlterClientQuotasResponse(entries=entries)


def _alter(
    call: Call, asked: AlterClientQuotasRequestEntryData, *, validate_only: bool
) -> AlterClientQuotasResponseEntryData:
    result = AlterClientQuotasResponseEntryData(entity=asked.entity, error_message=None)
    changes = {each.key: None if each.remove else each.value for each in asked.ops}
    try:
        entity = checked_entity({each.entity_type: each.entity_name for each in asked.entity}, len(asked.entity))
        if len(changes) < len(asked.ops):
            raise QuotaRefused("Duplicate quota key")
        call.cluster.client_quotas.change(entity, changes, validate_only=validate_only)
    except QuotaRefused as refusal:
        result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, str(refusal)
    return result


HANDLER = Handler(AlterClientQuotasRequest, 0, 1, _answer)
