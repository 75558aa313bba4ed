"""UpdateFeatures: changes group.version and transaction.version, either all or none. Source: KIP-584."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kctl.sandbox.apis.api_versions import features_of
from kctl.sandbox.call import Call, Handler

_UPGRADE = 1
_FIRST_VERSION_WITHOUT_RESULTS = 2
_SETTINGS = {"group.version": "group_version", "transaction.version": "transaction_version"}


def _answer(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    levels: dict[str, int] = {}
    for update in request.feature_updates:
        refusal = _refusal(call, update)
        if refusal:
            text = f"The update failed for all features since the following feature had an error: {refusal}"
            return UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=text)
        levels[_SETTINGS[update.feature]] = update.max_version_level
    if not request.validate_only:
        call.cluster.settings = call.cluster.settings._replace(**levels)  # type: ignore[arg-type]  # all are int
    results = [UpdatableFeatureResult(feature=each.feature, error_message=None) for each in request.feature_updates]
    has_results = call.version < _FIRST_VERSION_WITHOUT_RESULTS
    return UpdateFeaturesResponse(error_message=None, results=results if has_results else [])


def _refusal(call: Call, update: FeatureUpdateKey) -> str:
    level, name = update.max_version_level, update.feature
    invalid = f"Invalid update version {level} for feature {name}."
    features = {each: (highest, present) for each, highest, present in features_of(call.cluster.settings)}
    if name not in features:
        return f"{invalid} Local controller {call.cluster.quorum.leader_id} does not support this feature."
    highest, present = features[name]
    if not 0 <= level <= highest:
        return f"{invalid} Local controller {call.cluster.quorum.leader_id} only supports versions 0-{highest}"
    may_fall = update.allow_downgrade if call.version == 0 else update.upgrade_type != _UPGRADE
    if level < present and not may_fall:
        why = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
        return f"{invalid} {why} downgrade."
    return ""


HANDLER = Handler(UpdateFeaturesRequest, 0, 2, _answer)
