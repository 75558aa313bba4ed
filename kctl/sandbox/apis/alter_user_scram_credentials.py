"""AlterUserScramCredentials: credentials set and deleted, one change of each user in a request."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kctl.client.security.sasl.scram import MIN_ITERATIONS, keys_of
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.sasl import ScramCredential

MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka's numbers."""
_MAX_ITERATIONS = 16_384

_Change = ScramCredentialDeletion | ScramCredentialUpsertion
_Refusal = tuple[ErrorCode, str]


def _answer(call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    changes: dict[str, list[_Change]] = {}
    every: list[_Change] = [*request.deletions, *request.upsertions]
    for change in every:
        changes.setdefault(change.name, []).append(change)
    results = []
    for user, of_user in changes.items():
        refusal = next(filter(None, (_refusal(call, each) for each in of_user)), None)
        if len(of_user) > 1:
            text = "A user credential cannot be altered twice in the same request"
            refusal = ErrorCode.DUPLICATE_RESOURCE, text
        if refusal is None:
            for each in of_user:
                _change(call, each)
            results.append(AlterUserScramCredentialsResult(user=user, error_message=None))
        else:
            code, text = refusal
            results.append(AlterUserScramCredentialsResult(user=user, error_code=code, error_message=text))
    return AlterUserScramCredentialsResponse(results=results)


def _refusal(call: Call, change: _Change) -> _Refusal | None:
    mechanism = MECHANISMS.get(change.mechanism)
    if not change.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if mechanism is None:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    if isinstance(change, ScramCredentialDeletion):
        if mechanism in call.cluster.scram_users.iterations_of(change.name):
            return None
        return ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
    if change.iterations < MIN_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    if change.iterations > _MAX_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
    return None


def _change(call: Call, change: _Change) -> None:
    mechanism = MECHANISMS[change.mechanism]
    if isinstance(change, ScramCredentialDeletion):
        call.cluster.scram_users.delete(mechanism, change.name)
        return
    keys = keys_of(mechanism, change.salted_password)[1]
    call.cluster.scram_users.set(mechanism, change.name, ScramCredential(change.salt, change.iterations, keys))


HANDLER = Handler(AlterUserScramCredentialsRequest, 0, 0, _answer)
