"""AlterUserScramCredentials: sets and deletes credentials, one change for each user in a request."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.scram_credentials import (
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
"""Names of SCRAM mechanisms by Kafka's numbers."""
_MAX_ITERATIONS = 16_384

_Change = ScramCredentialDeletion | ScramCredentialUpsertion
_Refusal = tuple[ErrorCode, str]


def _answer(call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    changes: dict[str, list[_Change]] = {}
    every: list[_Change] = [*request.deletions, *request.upsertions]
    for change in every:
        changes.setdefault(change.name, []).append(change)
    return AlterUserScramCredentialsResponse(results=[_of_user(call, *each) for each in changes.items()])


def _of_user(call: Call, user: str, changes: list[_Change]) -> AlterUserScramCredentialsResult:
    refusal = next(filter(None, (_refusal(call, each) for each in changes)), None)
    if len(changes) > 1:
        refusal = ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
    if refusal is not None:
        code, text = refusal
        return AlterUserScramCredentialsResult(user=user, error_code=code, error_message=text)
    for each in changes:
        _change(call, each)
    return AlterUserScramCredentialsResult(user=user, error_message=None)


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
