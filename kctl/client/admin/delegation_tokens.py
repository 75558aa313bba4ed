"""Delegation tokens, by any broker of a secure listener. Source: KIP-48."""

from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from kctl.client.admin.call import Call, any_node
from kctl.client.admin.changes import make_change
from kctl.client.broker_errors import broker_error
from kctl.client.protocol.api.delegation_tokens import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


class DelegationToken(NamedTuple):
    """A token with which clients authenticate by SCRAM as its owner; `repr` hides the secret.

    Attributes:
        token_id: the user name for SCRAM.
        hmac: the secret; `password` is its text for SCRAM.
        owner: principal, such as `User:ann`.
        requester: principal that created the token; empty before Kafka 3.3.
        renewers: further principals that may renew it.
        issued_at_ms, expires_at_ms: times, in ms since the epoch.
        max_at_ms: time until which it can be renewed.
    """

    token_id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_at_ms: int
    expires_at_ms: int
    max_at_ms: int

    @property
    def password(self) -> str:
        return b64encode(self.hmac).decode()

    def __repr__(self) -> str:
        times = f"expires_at_ms={self.expires_at_ms}, max_at_ms={self.max_at_ms}"
        return f"DelegationToken({self.token_id!r}, hmac=***, owner={self.owner!r}, {times})"


def create_token(call: Call, owner: str | None, renewers: Sequence[str], max_lifetime_ms: int) -> DelegationToken:
    kind, name = (None, None) if owner is None else _parts("owner", owner)
    allowed = [_parts(f"renewers[{at}]", each) for at, each in enumerate(renewers)]

    def build(_timeout_ms: int) -> CreateDelegationTokenRequest:
        return CreateDelegationTokenRequest(
            **({} if owner is None else {"owner_principal_type": kind, "owner_principal_name": name}),
            renewers=[CreatableRenewers(principal_type=each, principal_name=who) for each, who in allowed],
            max_lifetime_ms=max_lifetime_ms,
        )

    made = make_change(call, any_node, build, CreateDelegationTokenResponse, action="create a delegation token")
    return DelegationToken(
        made.token_id,
        made.hmac,
        _principal(made.principal_type, made.principal_name),
        _principal(made.token_requester_principal_type, made.token_requester_principal_name),
        tuple(renewers),
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
    )


def renew_token(call: Call, hmac: bytes, renew_period_ms: int) -> int:
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)
    action = "renew a delegation token"
    renewed = make_change(call, any_node, lambda _: request, RenewDelegationTokenResponse, action=action)
    return renewed.expiry_timestamp_ms


def expire_token(call: Call, hmac: bytes, expiry_period_ms: int) -> int:
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_period_ms)
    action = "expire a delegation token"
    expired = make_change(call, any_node, lambda _: request, ExpireDelegationTokenResponse, action=action)
    return expired.expiry_timestamp_ms


def describe_tokens(call: Call, owners: Sequence[str] | None) -> list[DelegationToken]:
    wanted = None
    if owners is not None:
        parts = [_parts(f"owners[{at}]", each) for at, each in enumerate(owners)]
        wanted = [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, name in parts]
    request = DescribeDelegationTokenRequest(owners=wanted)
    while True:
        response = call.ask(any_node, lambda _: request, DescribeDelegationTokenResponse)
        if not response.error_code:
            return sorted(map(_described, response.tokens))
        call.pause(broker_error(response.error_code, "describe delegation tokens"))


def _described(token: DescribedDelegationToken) -> DelegationToken:
    return DelegationToken(
        token.token_id,
        token.hmac,
        _principal(token.principal_type, token.principal_name),
        _principal(token.token_requester_principal_type, token.token_requester_principal_name),
        tuple(_principal(each.principal_type, each.principal_name) for each in token.renewers),
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )


def _parts(where: str, principal: str) -> tuple[str, str]:
    kind, colon, name = principal.partition(":")
    if not (kind and colon and name):
        raise ValueError(f"{where} must be a principal such as User:ann, not {principal!r}")
    return kind, name


def _principal(kind: str, name: str) -> str:
    return f"{kind}:{name}" if kind or name else ""
