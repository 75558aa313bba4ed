"""Whatever is in a file: it is read, or one ConfigError says what is wrong with it."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.profiles.edits import put_current, put_profile, remove_profile
from kctl.cli.profiles.files import read_content
from kctl.cli.profiles.foreign.java import read_java
from kctl.cli.profiles.foreign.librdkafka import read_librdkafka
from kctl.cli.profiles.foreign.rpk import read_rpk
from kctl.client.errors import ConfigError

words = st.sampled_from(
    [
        "[profiles.a]", "[profiles]", "[", "]", "{", "}", "=", ".", ",", "\n", "\r\n", " ", "#", '"', "'", '"""', "'''",
        "a", "profiles", "current", "bootstrap.servers", "sasl.username", "sasl.password", "kafka_api:", "brokers:",
        "- ", ": ", "!!bool", "!!timestamp", "&x", "*x", "? ", "|", ">", "\\", "\\u12", "${env:", "}", "1", "-1.5",
        "2020-01-01", "\t", "true", "\0", "\x85", "\ud7ff",
    ]
)  # fmt: skip
contents = st.binary(max_size=60) | st.lists(words, max_size=30).map("".join).map(str.encode)

READERS: dict[str, Callable[[bytes, str], object]] = {
    "profiles": read_content, "java": read_java, "librdkafka": read_librdkafka, "rpk": read_rpk,
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
@given(raw=contents)
def test_read(reader: str, raw: bytes) -> None:
    with suppress(ConfigError):
        READERS[reader](raw, "f")


@given(contents)
def test_edit(raw: bytes) -> None:
    try:
        before = read_content(raw, "f")
    except ConfigError:
        return
    text = raw.decode()
    with suppress(ConfigError):
        assert read_content(put_profile(text, "a", {"acks": "1"}, "f").encode(), "f").profiles["a"] == {"acks": "1"}
    with suppress(ConfigError):
        assert "a" not in read_content(remove_profile(text, "a", "f").encode(), "f").profiles
    with suppress(ConfigError):
        assert read_content(put_current(text, "b", "f").encode(), "f") == before._replace(current="b")
