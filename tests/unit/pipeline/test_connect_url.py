"""URLs of Spark Connect servers: what is read, and that no message has the token."""

from pathlib import Path

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.connect_url import parse_connect_url

TOKEN = "canary%2F3f9c1b"


@pytest.mark.parametrize(
    ("text", "host", "port", "address"),
    [
        ("sc://localhost", "localhost", 15002, "localhost:15002"),
        ("sc://spark.example:443/;use_ssl=true", "spark.example", 443, "spark.example:443"),
        ("sc://[::1]:15/;user_id=me", "::1", 15, "[::1]:15"),
    ],
)
def test_url_is_read_with_the_default_port(text: str, host: str, port: int, address: str) -> None:
    url = parse_connect_url(text)
    assert (url.text, url.host, url.port, url.address, url.secrets) == (text, host, port, address, ())


def test_token_and_headers_are_concealed_as_written_and_as_sent() -> None:
    url = parse_connect_url(f"sc://h:1/;use_ssl=true;token={TOKEN};x-key=abcdefgh;user_id=someone")
    said = url.concealed(f"user someone sent {TOKEN} which is canary/3f9c1b with abcdefgh over h:1")
    assert said == "user someone sent *** which is *** with *** over h:1"
    assert url.address == "h:1"


@pytest.mark.parametrize(
    "text",
    [
        f"http://h:1/;token={TOKEN}",
        f"sc://h:99999/;token={TOKEN}",
        f"sc:///;token={TOKEN}",
        f"sc://h:1/;token={TOKEN};odd",
        f"sc://h:1/path;token={TOKEN}",
        f"sc://user:{TOKEN}@h:1",
        f"sc://h:1?token={TOKEN}",
        "h:1",
        "",
    ],
)
def test_invalid_url_is_one_sentence_without_the_token(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^invalid remote '.*': use sc://HOST:PORT$") as caught:
        parse_connect_url(text)
    assert TOKEN not in str(caught.value)


def test_reference_is_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONNECT", f"sc://h:1/;token={TOKEN}")
    assert parse_connect_url("env:CONNECT").secrets[0] == TOKEN
    (tmp_path / "url").write_text("sc://h:2\n")
    assert parse_connect_url(f"file:{tmp_path}/url").port == 2
    with pytest.raises(ConfigError, match="has no variable NOTHING"):
        parse_connect_url("env:NOTHING")
