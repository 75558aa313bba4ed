"""bootstrap.servers."""

import re

import pytest

from kctl.client.config.endpoints import Endpoint, read_bootstrap


@pytest.mark.parametrize(
    ("text", "endpoints", "protocol"),
    [
        ("a:9092", [("a", 9092)], None),
        (" a:1 , b.example.:65535,", [("a", 1), ("b.example.", 65535)], None),
        ("[::1]:9092,[fe80::1%eth0]:1", [("::1", 9092), ("fe80::1%eth0", 1)], None),
        ("SASL_SSL://a:1,sasl_ssl://b:2", [("a", 1), ("b", 2)], "SASL_SSL"),
        ("PLAINTEXT://[::1]:1", [("::1", 1)], "PLAINTEXT"),
        ("SSL://a:1,b:2", [("a", 1), ("b", 2)], "SSL"),
        ("kafka://a:1,Kafka://[::1],b", [("a", 1), ("::1", 9092), ("b", 9092)], None),
        ("a:1,a:1", [("a", 1)], None),
        ("a,b.example,c:1", [("a", 9092), ("b.example", 9092), ("c", 1)], None),
        ("[::1],SSL://a,bücher.example", [("::1", 9092), ("a", 9092), ("bücher.example", 9092)], "SSL"),
        ("bücher.example:1", [("bücher.example", 1)], None),
        ("under_score:1", [("under_score", 1)], None),
    ],
)
def test_endpoint_is_parsed(text: str, endpoints: list[tuple[str, int]], protocol: str | None) -> None:
    expected = tuple(Endpoint(host, port) for host, port in endpoints)
    assert read_bootstrap(text) == (expected, protocol)
    assert read_bootstrap(text.split(",")) == (expected, protocol)
    assert read_bootstrap(",".join(map(str, expected))) == (expected, None)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ("a:", "entry 'a:' has no port: did you mean a:9092?"),
        ("::1", "entry '::1' looks like an IPv6 address: use brackets, such as [::1]:9092"),
        ("fe80::1%eth0", "entry 'fe80::1%eth0' looks like an IPv6 address: use brackets, such as [::1]:9092"),
        ("9092", "entry '9092' has no host: did you mean localhost:9092?"),
        ("a;b", "entry 'a;b' contains several servers: separate them with commas: a,b"),
        ("a:1 b:2;c", "entry 'a:1 b:2;c' contains several servers: separate them with commas: a:1,b:2,c"),
        ("a:1;?", "entry 'a:1;?' is not in the form host:port"),
        ("a=b", "entry 'a=b' is not in the form host:port"),
        ("b:1,::1:9092", "entry '::1:9092' looks like an IPv6 address: use brackets, such as [::1]:9092"),
        ("a:0", "entry 'a:0': the port must be from 1 to 65535"),
        ("a:65536", "entry 'a:65536': the port must be from 1 to 65535"),
        ("a:123456", "entry 'a:123456' is not in the form host:port"),
        ("a:b", "entry 'a:b' is not in the form host:port"),
        (":9092", "entry ':9092' is not in the form host:port"),
        ("--api-timeout", "entry '--api-timeout' looks like an option: add servers before it"),
        ("-q:9092", "entry '-q:9092' looks like an option: add servers before it"),
        (
            "http://a:80",
            "entry 'http://a:80': invalid protocol 'http': use one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ("u:p@a:1", "entry 'u:***@a:1' is not in the form host:port"),
        ("SSL://u:p@ss@a:1", "entry 'SSL://u:***@a:1' is not in the form host:port"),
        ("a b:1", "entry 'a b:1' contains several servers: separate them with commas: a,b:1"),
        ("SSL://a:1,PLAINTEXT://b:2", "the entries have different security protocols: SSL and PLAINTEXT"),
        ("", "the list is empty"),
        (" , ", "the list is empty"),
        (["a:1", 2], "entry 2 is not a string"),
        ("x" * 254 + ":1", f"entry '{'x' * 79}...': the host name has more than 253 characters"),
    ],
)
def test_endpoint_that_is_malformed_is_refused(raw: object, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        read_bootstrap(raw)
