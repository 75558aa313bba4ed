"""The highest common version of each API, and an error that says what is missing."""

import pytest

from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api import api_key_of
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from kctl.client.protocol.api.fetch import FetchRequest
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.transaction_states import ListTransactionsRequest
from kctl.client.protocol.versions import FIRST_RELEASE, NodeVersions


def node(low: int, high: int, api_key: int = 1) -> NodeVersions:
    """A node that offers one API."""
    offer = ApiVersion(api_key=api_key, min_version=low, max_version=high)
    return NodeVersions.from_response(ApiVersionsResponse(api_keys=[offer]))


@pytest.mark.parametrize(("low", "high", "chosen"), [(0, 12, 12), (0, 99, 18), (4, 4, 4), (18, 30, 18), (0, 4, 4)])
def test_the_highest_common_version(low: int, high: int, chosen: int) -> None:
    assert node(low, high).choose(FetchRequest) == chosen
    assert node(low, high).supports(FetchRequest)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (19, 30), (9, 5)])
def test_no_common_version(low: int, high: int) -> None:
    versions = node(low, high)
    assert not versions.supports(FetchRequest)
    reason = rf"kctl needs Fetch \(API key 1\) in version 4 to 18, but the broker supports version {low} to {high}"
    with pytest.raises(UnsupportedVersionError, match=reason) as caught:
        versions.choose(FetchRequest)
    assert caught.value.api == "Fetch"


def test_an_api_that_is_not_offered() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"the broker does not support Metadata \(API key 3\)"):
        node(0, 12).choose(MetadataRequest)


def test_an_api_that_is_not_offered_is_named_with_the_release_that_has_it() -> None:
    reason = r"the broker does not support ListTransactions .*, which needs Kafka 3.0 or later"
    with pytest.raises(UnsupportedVersionError, match=reason):
        node(0, 12).choose(ListTransactionsRequest)


def test_releases_are_of_declared_apis() -> None:
    assert {name for name in FIRST_RELEASE if api_key_of(name) is None} == set()


def test_a_ceiling_and_a_floor() -> None:
    versions = node(0, 17)
    assert versions.choose(FetchRequest, at_most=12) == 12
    assert versions.supports(FetchRequest, at_least=17)
    assert not versions.supports(FetchRequest, at_least=18)
    with pytest.raises(UnsupportedVersionError, match="in version 4 to 3, but the broker"):
        versions.choose(FetchRequest, at_most=3)


def test_a_version_that_kafka_calls_unstable_is_never_chosen() -> None:
    assert InitProducerIdRequest.VALID_VERSIONS == (0, 6)
    assert node(0, 6, api_key=22).choose(InitProducerIdRequest) == 5


def test_features() -> None:
    feature = FinalizedFeatureKey(name="group.version", min_version_level=1, max_version_level=1)
    versions = NodeVersions.from_response(ApiVersionsResponse(finalized_features=[feature]))
    assert versions.features == {"group.version": 1}
