"""wait_for_topics, fenced producers, directories of replicas, features, voters, brokers and delegation tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kctl.client.admin import Admin, FeatureUpdate, NewTopic, Replica, UpgradeType, VoterEndpoint
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import ApiTimeout, BrokerError, TransactionError
from kctl.client.protocol.api import cluster as cluster_api
from kctl.client.protocol.api import delegation_tokens as token_api
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox import Fault
from kctl.sandbox.apis import HANDLERS, api_versions
from kctl.sandbox.call import Handler
from tests.sim.kit import SimCluster, run_with_admin

DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAQ"


@contextmanager
def offered(*answers: tuple[type[Request], Callable[[Any], Response]]) -> Iterator[None]:
    """Let the nodes support more APIs inside the block."""
    before = dict(HANDLERS)

    def handler(request: type[Request], answer: Callable[[Any], Response]) -> Handler[Any]:
        first, last = request.VALID_VERSIONS
        return Handler(request, first, last, lambda _call, asked: answer(asked))

    try:
        HANDLERS.update({request.API_KEY: handler(request, answer) for request, answer in answers})
        api_versions.offer(HANDLERS.values())
        yield
    finally:
        HANDLERS.clear()
        HANDLERS.update(before)
        api_versions.offer(HANDLERS.values())


def test_wait_ends_when_the_topics_exist_and_have_leaders() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        other = cluster.enter(cluster.admin())
        cluster.at(cluster.clock.now_ms() + 700, lambda: cluster.sandbox.create_topic("late", 2))
        before_ms = cluster.clock.now_ms()
        found = admin.wait_for_topics(["t", "late"], timeout=10)
        assert 700 <= cluster.clock.now_ms() - before_ms < 2000
        assert list(found) == ["t", "late"]
        assert [each.leader_id > 0 for each in found["late"].partitions.values()] == [True, True]
        assert other.wait_for_topics([], timeout=1) == {}

    run_with_admin(use)


def test_wait_for_a_topic_without_leaders_ends_at_its_deadline_and_names_the_topic() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.create_topics([NewTopic("lone", assignments={0: [2]})]).raise_first()
        admin.wait_for_topics(["lone"], timeout=5)
        cluster.sandbox.elect_late("lone", 0, 2, ms=60_000)
        for name in ("missing", "lone"):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout, match=f"waiting for t, {name}") as caught:
                admin.wait_for_topics(["t", name], timeout=3)
            assert cluster.clock.now_ms() - before_ms == 3000
            assert name in str(caught.value.cause)

    run_with_admin(use)


def test_fenced_producer_can_only_be_closed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = cluster.enter(cluster.producer({"transactional.id": "x"}))
        producer.init_transactions(5)
        producer.begin_transaction()
        producer.send("t", b"v", partition=0)
        producer.flush(5)
        fenced = admin.fence_producers(["x", "new"], timeout=10)
        assert fenced.failed == {}
        assert fenced["x"].epoch > fenced["new"].epoch == 0
        with pytest.raises(TransactionError):
            producer.commit_transaction(5)
        assert admin.describe_transactions(["x"])["x"].state in ("CompleteAbort", "PrepareAbort", "Empty")

    run_with_admin(use)


def test_replicas_are_described_and_moved_by_directory() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        topic = admin.describe_topics(["t"])["t"]
        holder = topic.partitions[0].replicas[0]
        other = next(each for each in (1, 2, 3) if each not in topic.partitions[0].replicas)
        here, away, gone = Replica("t", 0, holder), Replica("t", 0, other), Replica("t", 0, 9)
        found = admin.describe_replica_log_dirs([here, away, gone])
        path = found[here].path
        assert path
        assert found[here].future_path is None
        moved = admin.alter_replica_log_dirs({here: path, away: path, gone: path})
        assert list(moved.done) == [here]
        codes = {key: error.code for key, error in moved.failed.items() if isinstance(error, BrokerError)}
        assert codes == {away: ErrorCode.REPLICA_NOT_AVAILABLE, gone: ErrorCode.BROKER_ID_NOT_REGISTERED}
        (error,) = admin.alter_replica_log_dirs({here: "/elsewhere"}).failed.values()
        assert isinstance(error, error_class(ErrorCode.LOG_DIR_NOT_FOUND))
        assert {key: type(error) for key, error in found.failed.items()} == {
            away: error_class(ErrorCode.REPLICA_NOT_AVAILABLE),
            gone: error_class(ErrorCode.BROKER_ID_NOT_REGISTERED),
        }

    run_with_admin(use)


def test_features_are_changed_together_or_not_at_all() -> None:
    def level(admin: Admin) -> int:
        return next(each.level for each in admin.describe_features() if each.name == "transaction.version")

    def use(cluster: SimCluster, admin: Admin) -> None:
        before = level(admin)
        lower = {"transaction.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}
        assert admin.update_features(lower, validate_only=True).failed == {}
        assert level(admin) == before > 0
        rejected = admin.update_features({**lower, "nonsense": FeatureUpdate(1)})
        assert {type(error) for error in rejected.failed.values()} == {error_class(ErrorCode.INVALID_UPDATE_VERSION)}
        assert (len(rejected.failed), level(admin)) == (2, before)
        assert admin.update_features(lower).done == {"transaction.version": None}
        assert level(admin) == 0
        assert admin.update_features({}).done == {}

    run_with_admin(use)


def test_brokers_that_are_not_registered_are_named() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.unregister_broker(1)
        with pytest.raises(BrokerError, match=r"cannot unregister broker 9: .*BROKER_ID_NOT_REGISTERED"):
            admin.unregister_broker(9)

    run_with_admin(use)


VOTERS: list[tuple[Callable[[Admin], object], type[Request], type[Response], ErrorCode]] = [
    (
        lambda admin: admin.add_raft_voter(4, DIRECTORY, [VoterEndpoint("CONTROLLER", "h", 9093)], timeout=20),
        cluster_api.AddRaftVoterRequest,
        cluster_api.AddRaftVoterResponse,
        ErrorCode.DUPLICATE_VOTER,
    ),
    (
        lambda admin: admin.remove_raft_voter(4, DIRECTORY, timeout=20),
        cluster_api.RemoveRaftVoterRequest,
        cluster_api.RemoveRaftVoterResponse,
        ErrorCode.VOTER_NOT_FOUND,
    ),
]


@pytest.mark.parametrize(("call", "request_type", "response_type", "again"), VOTERS, ids=["add", "remove"])
def test_change_of_voters_whose_response_is_lost_is_made_once(
    call: Callable[[Admin], object],
    request_type: type[Request],
    response_type: type[Response],
    again: ErrorCode,
) -> None:
    seen: list[Any] = []

    def answer(request: Any) -> Response:
        seen.append(request)
        return response_type(error_code=ErrorCode.NONE if len(seen) == 1 else again)

    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.describe_cluster()
        cluster.break_all(Fault.DROP_RESPONSES)
        cluster.at(cluster.clock.now_ms() + 3000, lambda: cluster.sandbox.heal())
        call(admin)
        assert len(seen) > 1
        assert (seen[0].voter_id, seen[0].voter_directory_id[-1]) == (4, 1)
        with pytest.raises(error_class(again)):
            call(admin)

    with offered((request_type, answer)):
        run_with_admin(use, request_timeout_ms=1000)


@pytest.mark.parametrize("directory", ["", "short", b"x", "A" * 23, "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"])
def test_directory_that_is_no_uuid_is_rejected(directory: str | bytes) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises(ValueError, match="directory_id must be 16 bytes"):
            admin.remove_raft_voter(1, directory)
        assert admin.requests_sent == 0

    run_with_admin(use)


def test_tokens_are_created_described_renewed_and_expired() -> None:
    asked: list[Any] = []

    def create(request: token_api.CreateDelegationTokenRequest) -> Response:
        asked.append(request)
        return token_api.CreateDelegationTokenResponse(
            principal_type="User", principal_name=request.owner_principal_name or "me", token_id="id", hmac=b"secret",
            issue_timestamp_ms=1, expiry_timestamp_ms=2, max_timestamp_ms=3,
        )  # fmt: skip

    def describe(request: token_api.DescribeDelegationTokenRequest) -> Response:
        asked.append(request)
        renewer = token_api.DescribedDelegationTokenRenewer(principal_type="User", principal_name="bob")
        token = token_api.DescribedDelegationToken(
            principal_type="User", principal_name="ann", token_id="id", hmac=b"secret", renewers=[renewer],
            issue_timestamp=1, expiry_timestamp=2, max_timestamp=3,
        )  # fmt: skip
        return token_api.DescribeDelegationTokenResponse(tokens=[token])

    def renew(request: token_api.RenewDelegationTokenRequest) -> Response:
        return token_api.RenewDelegationTokenResponse(expiry_timestamp_ms=request.renew_period_ms + 100)

    def expire(request: token_api.ExpireDelegationTokenRequest) -> Response:
        code = ErrorCode.NONE if request.hmac == b"secret" else ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        return token_api.ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=50)

    def use(cluster: SimCluster, admin: Admin) -> None:
        token = admin.create_delegation_token(owner="User:ann", renewers=["User:bob"], max_lifetime_ms=9)
        assert (token.owner, token.renewers, token.expires_at_ms) == ("User:ann", ("User:bob",), 2)
        assert token.password == "c2VjcmV0"
        assert "secret" not in repr(token)
        assert admin.create_delegation_token().owner == "User:me"
        assert asked[1].owner_principal_name in (None, "")
        assert admin.describe_delegation_tokens(["User:ann"]) == [token]
        assert [each.principal_name for each in asked[2].owners] == ["ann"]
        admin.describe_delegation_tokens()
        assert asked[3].owners is None
        assert admin.renew_delegation_token(b"secret", renew_period_ms=7) == 107
        assert admin.expire_delegation_token(b"secret") == 50
        with pytest.raises(error_class(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)):
            admin.expire_delegation_token(b"other")
        with pytest.raises(ValueError, match=r"renewers\[0\] must be a principal such as User:ann, not 'bob'"):
            admin.create_delegation_token(renewers=["bob"])

    with offered(
        (token_api.CreateDelegationTokenRequest, create),
        (token_api.DescribeDelegationTokenRequest, describe),
        (token_api.RenewDelegationTokenRequest, renew),
        (token_api.ExpireDelegationTokenRequest, expire),
    ):
        run_with_admin(use)
