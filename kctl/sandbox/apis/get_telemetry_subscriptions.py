"""GetTelemetrySubscriptions: returns a client ID and requests no metrics. Source: KIP-714."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.telemetry import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.telemetry import ACCEPTED_COMPRESSION, MAX_BYTES, PUSH_INTERVAL_MS, TelemetryRefused


def _answer(call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    telemetry = call.node.telemetry
    client_id = request.client_instance_id
    if client_id == ZERO_UUID:
        client_id = telemetry.new_client_id()
    try:
        subscription_id = telemetry.subscribe(client_id, call.cluster.scheduler.now_ms())
    except TelemetryRefused as refusal:
        return GetTelemetrySubscriptionsResponse(error_code=refusal.code)
    return GetTelemetrySubscriptionsResponse(
        error_code=ErrorCode.NONE,
        client_instance_id=client_id,
        subscription_id=subscription_id,
        accepted_compression_types=list(ACCEPTED_COMPRESSION),
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=MAX_BYTES,
        delta_temporality=True,
        requested_metrics=[],
    )


HANDLER = Handler(GetTelemetrySubscriptionsRequest, 0, 0, _answer)
