"""The options of decoding: what they mean, and what they refuse, by name and without a secret."""

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.decoding.plan import DecodeRequest, SideRequest
from kctl.pipeline.source.decode_options import decode_request
from kctl.pipeline.source.options import read_options
from kctl.serdes.encoder import Target

URL = {"schema.registry.url": "http://h:8081"}


def test_without_decode_nothing_is_decoded() -> None:
    assert decode_request({}) is None


def test_sides_schemas_and_messages() -> None:
    given = {"decode": "key=avro, value=protobuf", "decodeschema": "value=s@3", "decodemessage": "value=shop.Order"}
    assert decode_request(given | URL) == DecodeRequest(
        SideRequest("avro", Target(subject="{topic}-key")),
        SideRequest("protobuf", Target(subject="s", version=3), "shop.Order"),
        tuple(URL.items()),
    )
    both = decode_request({"decode": "auto"} | URL)
    assert both is not None
    assert both.key == SideRequest("auto", Target(subject="{topic}-key"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"decode": "avro"}, r"set schema\.registry\.url"),
        ({"decode": "value=xml"} | URL, "decode value='xml': use one of auto, avro"),
        ({"decodeschema": "s"}, "option decodeSchema needs option decode"),
        (URL, r"option schema\.registry\.url needs option decode"),
        (
            {"decode": "value=avro", "decodeschema": "key=s"} | URL,
            "option decodeSchema has a value for key, but option",
        ),
        (
            {"decode": "avro", "schema.registry.uri": "x"} | URL,
            "unknown schema registry property 'schema.registry.uri'",
        ),
        (
            {"decode": "avro", "schema.registry.basic.auth.user.info": "me:canary"} | URL,
            "is a secret, which would be sent to the tasks in plain text",
        ),
        (
            {"decode": "avro", "schema.registry.url": "http://me:canary@h"},
            "is a secret, which would be sent to the tasks",
        ),
    ],
)
def test_option_that_means_nothing_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        read_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t", **given}, is_stream=False)
    assert "canary" not in str(caught.value)
