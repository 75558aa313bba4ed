"""Addresses by hand."""

import pytest

from kctl.cli.probe.resolve import parse_resolve
from kctl.client.runtime import Address


def test_addresses_of_both_families_and_several_of_one_name() -> None:
    given = ["a.example:9092:10.0.0.1", "a.example:9092:[fd00:0::1]", "[::1]:9093:127.0.0.1", " b:1:[10.0.0.2] "]
    assert parse_resolve(given) == {
        ("a.example", 9092): [Address("10.0.0.1", 9092), Address("fd00::1", 9092, is_ipv6=True)],
        ("::1", 9093): [Address("127.0.0.1", 9093)],
        ("b", 1): [Address("10.0.0.2", 1)],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.example", "use host:port:ip"),
        ("a.example:9092", "use host:port:ip"),
        ("a.example:9092:fd00::1", "in brackets"),
        ("a.example:9092:b.example", "invalid IP address b.example"),
        ("a.example:0:10.0.0.1", "invalid port 0"),
        ("a.example:70000:10.0.0.1", "invalid port 70000"),
        ("a.example:x:10.0.0.1", "use host:port:ip"),
        ("", "use host:port:ip"),
    ],
)
def test_anything_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_resolve([text])
