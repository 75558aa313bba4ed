"""Telemetry: no metrics are requested, every client gets an ID, and early pushes are rejected. Source: KIP-714."""

from typing import Any

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.telemetry import MAX_BYTES, PUSH_INTERVAL_MS
from tests.unit.sandbox.scenario import Client, Scenario


def _get(client: Client, client_id: bytes = ZERO_UUID) -> GetTelemetrySubscriptionsResponse:
    request = GetTelemetrySubscriptionsRequest(client_instance_id=client_id)
    return client.call(request, GetTelemetrySubscriptionsResponse, 0)


def _push(client: Client, got: GetTelemetrySubscriptionsResponse, **more: Any) -> int:
    fields: dict[str, Any] = {
        "client_instance_id": got.client_instance_id,
        "subscription_id": got.subscription_id,
    } | more
    return client.call(PushTelemetryRequest(**fields), PushTelemetryResponse, 0).error_code


def test_who_has_no_id_gets_one_and_is_asked_for_nothing() -> None:
    client = Scenario().connect()
    first, second = _get(client), _get(client)
    assert ZERO_UUID != first.client_instance_id != second.client_instance_id != ZERO_UUID
    assert (first.error_code, first.requested_metrics, first.push_interval_ms) == (0, [], PUSH_INTERVAL_MS)
    assert (first.telemetry_max_bytes, first.delta_temporality) == (MAX_BYTES, True)
    assert first.subscription_id != second.subscription_id


def test_an_id_is_kept_and_asks_once_in_an_interval() -> None:
    scenario = Scenario()
    client = scenario.connect()
    got = _get(client)
    assert _get(client, got.client_instance_id).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    scenario.scheduler.advance(PUSH_INTERVAL_MS)
    again = _get(client, got.client_instance_id)
    assert (again.client_instance_id, again.subscription_id) == (got.client_instance_id, got.subscription_id)


def test_pushes_come_once_in_an_interval_and_at_once_after_asking() -> None:
    scenario = Scenario()
    client = scenario.connect()
    got = _get(client)
    scenario.scheduler.advance(1)
    assert _push(client, got) == ErrorCode.NONE
    assert _push(client, got) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    scenario.scheduler.advance(PUSH_INTERVAL_MS)
    assert _push(client, got) == ErrorCode.NONE
    scenario.scheduler.advance(10)
    assert _push(client, got, terminating=True) == ErrorCode.NONE, "the last push may come early"
    assert _push(client, got) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"client_instance_id": ZERO_UUID}, ErrorCode.INVALID_REQUEST),
        ({"subscription_id": 1}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": b"x" * (MAX_BYTES + 1)}, ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
def test_invalid_push_telemetry_is_refused(wrong: dict[str, Any], code: ErrorCode) -> None:
    client = Scenario().connect()
    assert _push(client, _get(client), **wrong) == code
