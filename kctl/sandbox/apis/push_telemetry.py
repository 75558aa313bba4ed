"""PushTelemetry: checks the request as Kafka does and discards the metrics. Source: KIP-714."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.telemetry import PushTelemetryRequest, PushTelemetryResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.telemetry import Push, TelemetryRefused


def _answer(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    push = Push(
        request.client_instance_id,
        request.subscription_id,
        request.terminating,
        request.compression_type,
        len(request.metrics),
    )
    try:
        call.node.telemetry.push(push, call.cluster.scheduler.now_ms())
    except TelemetryRefused as refusal:
        return PushTelemetryResponse(error_code=refusal.code)
    return PushTelemetryResponse(error_code=ErrorCode.NONE)


HANDLER = Handler(PushTelemetryRequest, 0, 0, _answer)
