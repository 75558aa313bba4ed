"""DescribeUserScramCredentials: the SCRAM mechanisms and iterations of users."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kctl.sandbox.apis.alter_user_scram_credentials import MECHANISMS
from kctl.sandbox.call import Call, Handler

_NUMBERS = {name: number for number, name in MECHANISMS.items()}


def _answer(call: Call, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    names = [user.name for user in request.users or ()]
    asked = dict.fromkeys(names or call.cluster.scram_users.names())
    results = [_user(call, name, is_twice=names.count(name) > 1) for name in asked]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _user(call: Call, name: str, *, is_twice: bool) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(user=name, error_message=None)
    found = call.cluster.scram_users.iterations_of(name)
    if is_twice:
        result.error_code = ErrorCode.DUPLICATE_RESOURCE
        result.error_message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    elif not found:
        result.error_code = ErrorCode.RESOURCE_NOT_FOUND
        result.error_message = f"Attempt to describe a user credential that does not exist: {name}"
    else:
        infos = [CredentialInfo(mechanism=_NUMBERS[each], iterations=count) for each, count in found.items()]
        result.credential_infos = infos
    return result


HANDLER = Handler(DescribeUserScramCredentialsRequest, 0, 0, _answer)
