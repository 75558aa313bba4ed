"""Checks of decoded responses."""

import pytest

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api.metadata import MetadataResponse, MetadataResponseTopic
from kctl.client.protocol.checks import check_response


def response(name: str | None, error_code: int = 0) -> MetadataResponse:
    return MetadataResponse(topics=[MetadataResponseTopic(name=name, error_code=error_code)])


@pytest.mark.parametrize("name", ["/etc/x", "../x", "..", "", "a b"])
def test_metadata_with_an_illegal_topic_name_is_refused(name: str) -> None:
    with pytest.raises(RemoteProtocolError, match="not a valid topic name"):
        check_response(response(name))


def test_metadata_with_an_error_may_repeat_the_name_that_was_asked_for() -> None:
    check_response(response("a b", error_code=17))
    check_response(response(None))
    check_response(response("orders"))
