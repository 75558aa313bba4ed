"""SCRAM credentials of users. Only salted hashes of passwords are sent (RFC 5802)."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from kctl.client.admin.call import Call, Results, Unanswered, any_node, broker, controller
from kctl.client.admin.scram_values import (
    SCRAM_NUMBERS,
    Credential,
    ScramChange,
    ScramMechanisms,
    ScramPassword,
    ScramRemoval,
)
from kctl.client.admin.topics import item_error
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.protocol.api.scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from kctl.client.requests.retry import ADMIN_GROUPS, ADMIN_TOPICS
from kctl.client.security.sasl.scram import HASHES
from kctl.client.wording import one_line

_NAMES = {number: name for name, number in SCRAM_NUMBERS.items()}
SALT_BYTES = 24


def describe_scram_users(
    call: Call, names: Sequence[str] | None, broker_id: int | None = None
) -> Results[str, ScramMechanisms]:
    route = any_node if broker_id is None else broker(broker_id)
    # an empty list means all users; brokers close the connection if it is null
    users = [UserName(name=name) for name in dict.fromkeys(names or ())]

    def attempt(keys: list[str]) -> dict[str, Results[str, ScramMechanisms] | KafkaError]:
        answer = call.answer_of(
            route, lambda _: DescribeUserScramCredentialsRequest(users=users), DescribeUserScramCredentialsResponse
        )
        response = answer.response
        assert isinstance(response, DescribeUserScramCredentialsResponse)
        if response.error_code:
            error = broker_error(response.error_code, "describe users", response.error_message)
            return dict.fromkeys(keys, error)
        found = call.items(answer, None if names is None else list(names), _described)
        done = {name: item for name, item in sorted(found.items()) if not isinstance(item, KafkaError)}
        failed = {name: item for name, item in found.items() if isinstance(item, KafkaError)}
        return dict.fromkeys(keys, Results(done, failed))

    return call.each([""], attempt, ADMIN_GROUPS.is_retried)[""]


def alter_scram_users(call: Call, changes: Sequence[ScramChange]) -> Results[Credential, None]:
    """Return the outcome of each credential.

    Because brokers accept one change per user in a request, further changes of a user follow in later requests. After a
    failure, they are not sent and get the same error.
    """
    for change in changes:
        if change.mechanism not in SCRAM_NUMBERS:
            raise ValueError(f"mechanism must be {' or '.join(SCRAM_NUMBERS)}, not {change.mechanism!r}")
    done: dict[Credential, None] = {}
    failed: dict[Credential, KafkaError] = {}
    pending = {Credential(each.user, each.mechanism): each for each in changes}
    while pending:
        first = {key.user: key for key in reversed(pending)}
        try:
            results = _alter_each(call, {key.user: pending.pop(key) for key in first.values()})
        except ApiTimeout as timeout:
            if not (done or failed):
                raise
            failed.update(dict.fromkeys([*first.values(), *pending], timeout))
            break
        done.update(dict.fromkeys(first[user] for user in results.done))
        failed.update((first[user], error) for user, error in results.failed.items())
        for key in [key for key in pending if key.user in results.failed]:
            failed[key] = results.failed[key.user]
            del pending[key]
    return Results(done, failed)


def _alter_each(call: Call, changes: Mapping[str, ScramChange]) -> Results[str, bool]:
    """Return the outcome of each user's change; after a lost response, a missing credential counts as removed."""
    upserts = {user: _upsert(call, each) for user, each in changes.items() if isinstance(each, ScramPassword)}
    removals = {user: each for user, each in changes.items() if isinstance(each, ScramRemoval)}
    unanswered = Unanswered()

    def build(pending: list[str], _timeout_ms: int) -> AlterUserScramCredentialsRequest:
        unanswered.sent()
        return AlterUserScramCredentialsRequest(
            deletions=[
                ScramCredentialDeletion(name=user, mechanism=SCRAM_NUMBERS[each.mechanism])
                for user, each in removals.items()
                if user in pending
            ],
            upsertions=[each for user, each in upserts.items() if user in pending],
        )

    def read(response: AlterUserScramCredentialsResponse) -> Iterator[tuple[str, bool | KafkaError]]:
        was_lost = unanswered.answered()
        for entry in response.results:
            if was_lost and entry.error_code == ErrorCode.RESOURCE_NOT_FOUND and entry.user in removals:
                yield entry.user, True
                continue
            what = f"alter user {one_line(entry.user)}"
            yield entry.user, item_error(call, entry.error_code, what, entry.error_message) or True

    return call.ask_each(changes, controller, build, AlterUserScramCredentialsResponse, read, ADMIN_TOPICS.is_retried)


def _upsert(call: Call, change: ScramPassword) -> ScramCredentialUpsertion:
    salt = call.client.entropy.token_bytes(SALT_BYTES)
    algorithm = HASHES[change.mechanism]
    salted = hashlib.pbkdf2_hmac(algorithm, change.password.encode(), salt, change.iterations)
    return ScramCredentialUpsertion(
        name=change.user,
        mechanism=SCRAM_NUMBERS[change.mechanism],
        iterations=change.iterations,
        salt=salt,
        salted_password=salted,
    )


def _described(
    response: DescribeUserScramCredentialsResponse,
) -> Iterator[tuple[str, ScramMechanisms | KafkaError]]:
    for entry in response.results:
        if entry.error_code:
            what = f"describe user {one_line(entry.user)}"
            yield entry.user, broker_error(entry.error_code, what, entry.error_message)
        else:
            yield entry.user, {_name(each.mechanism): each.iterations for each in entry.credential_infos}


def _name(number: int) -> str:
    return _NAMES.get(number, f"mechanism {number}")
