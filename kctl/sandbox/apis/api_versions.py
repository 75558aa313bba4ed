"""ApiVersions: the API versions and features of a node."""

from collections.abc import Iterable
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.settings import ClusterSettings

_offered: list[ApiVersion] = []


def offer(handlers: Iterable[Handler[Any]]) -> None:
    _offered[:] = [
        ApiVersion(
            api_key=handler.request.API_KEY,
            min_version=handler.first if handler.advertised_from is None else handler.advertised_from,
            max_version=handler.last,
        )
        for handler in sorted(handlers, key=lambda each: each.request.API_KEY)
    ]


def response(code: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
    """Return the response. UNSUPPORTED_VERSION is sent as version 0 (KIP-511)."""
    return ApiVersionsResponse(error_code=code, api_keys=list(_offered))


def _answer(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    named = all(_is_software_word(text) for text in (request.client_software_name, request.client_software_version))
    answer = response(ErrorCode.NONE if call.version < 3 or named else ErrorCode.INVALID_REQUEST)
    _add_features(answer, call.cluster.settings)
    return answer


def features_of(settings: ClusterSettings) -> tuple[tuple[str, int, int], ...]:
    return (("group.version", 1, settings.group_version), ("transaction.version", 2, settings.transaction_version))


def _add_features(answer: ApiVersionsResponse, settings: ClusterSettings) -> None:
    features = features_of(settings)
    answer.supported_features = [
        SupportedFeatureKey(name=name, min_version=0, max_version=highest) for name, highest, _ in features
    ]
    answer.finalized_features_epoch = 1
    answer.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, _, level in features
        if level > 0
    ]


def _is_software_word(text: str) -> bool:
    """Return whether KIP-511 allows a text: letters and digits, with dots and dashes only between them."""
    return (
        bool(text)
        and text.isascii()
        and text.replace(".", "a").replace("-", "a").isalnum()
        and (text[0].isalnum() and text[-1].isalnum())
    )


HANDLER = Handler(ApiVersionsRequest, 0, 4, _answer)
