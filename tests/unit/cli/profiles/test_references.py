"""What references stand for, and what is said of one that has nothing."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from kctl.cli.profiles.references import (
    COMMAND_LIMIT_MS,
    JAAS,
    Fetched,
    Reference,
    Sources,
    escape,
    fetch,
    references,
    split_references,
    unescape,
)
from kctl.client.clock import ManualClock, SystemClock
from kctl.client.errors import ConfigError
from kctl.client.security.jaas import read_jaas

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username={} password={};"


def _sources(folder: Path = Path("/"), ask: Callable[[str], str] | None = None, **environ: str) -> Sources:
    return Sources(environ, folder, SystemClock(), ask)


def test_pieces() -> None:
    assert list(split_references("a${env:B}c$${d}$e${cmd:x '{y}'}")) == [
        "a", Reference("env", "B"), "c${", "d}$e", Reference("cmd", "x '{y}'"),
    ]  # fmt: skip


@given(st.text())
def test_an_escaped_text_is_the_text(text: str) -> None:
    assert fetch("client.id", escape(text), "profile p", _sources()) == Fetched(text, ())
    assert unescape(escape(text)) == text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${env:A", "character 1 is not closed"),
        ("x${cmd:{}", "character 2 is not closed"),
        ("${A}", "unknown reference: use"),
        ("${env:}", "unknown reference: use"),
        ("${ENV:A}", "unknown reference: use"),
    ],
)
def test_malformed(value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^profile p: client.id: .*{said}") as e:
        fetch("client.id", value, "profile p", _sources(A="1"))
    assert e.value.key == "client.id"
    assert references(value) == []


def test_sources(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of file\r\n\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("of home")
    sources = _sources(tmp_path, lambda words: f"asked {words}", A="of variable", HOME=str(tmp_path / "home"))
    value = "${env:A} ${file:secret} ${file:~/secret} ${cmd:printf '%s' \"$A\" | tr a-z A-Z} ${prompt:Password}"
    assert fetch("client.id", value, "profile p", sources) == Fetched(
        "of variable of file of home OF VARIABLE asked Password",
        ("of variable", "of file", "of home", "OF VARIABLE", "asked Password"),
    )


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("${env:NONE}", "$NONE is not set"),
        ("${file:none}", "No such file or directory"),
        ("${file:.}", "Is a directory"),
        ("${file:/dev/zero}", "larger than"),
        ("${file:latin}", "not UTF-8"),
        ("${cmd:exit 3}", "exited with code 3"),
        ("${cmd:no-such-program-here 2>&-}", "exited with code 127"),
        ("${cmd:true}", "printed nothing"),
        ("${cmd:cat /dev/zero}", "larger than"),
        ("${keyring:user}", "SERVICE/USER"),
        ("${prompt:Password}", "no terminal"),
    ],
)
def test_missing_names_profile_key_and_source(reference: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(ConfigError) as e:
        fetch(JAAS, LOGIN.format("a", reference), "profile p", _sources(tmp_path, PATH=os.environ["PATH"]))
    assert str(e.value).startswith(f"profile p: cannot resolve {reference} in sasl.jaas.config: ")
    assert why in str(e.value)


class _Late(ManualClock):
    """A clock of which a minute has passed at the first look."""

    __slots__ = ()

    def now_ms(self) -> int:
        return super().now_ms() + COMMAND_LIMIT_MS


def test_a_command_that_hangs_is_ended_at_its_limit() -> None:
    sources = Sources({"PATH": os.environ["PATH"]}, Path("/"), _Late())
    with pytest.raises(ConfigError, match="did not finish within 60s"):
        fetch("client.id", "${cmd:exec sleep 600}", "profile p", sources)


def test_commands_do_not_read_our_stdin() -> None:
    fetched = fetch("client.id", "${cmd:cat; echo end}", "profile p", _sources(PATH=os.environ["PATH"]))
    assert fetched.value == "end"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_fetched_secret_cannot_break_out_of_a_login(secret: str) -> None:
    for form in ('"{}"', "'{}'", "{}"):
        login = LOGIN.format('"it\'s"', form.format("${env:SECRET}"))
        fetched = fetch(JAAS, login, "profile p", _sources(SECRET=secret))
        assert read_jaas(fetched.value).options == {"username": "it's", "password": secret}
        assert fetched.parts == (secret,)


def test_a_login_that_is_fetched_as_a_whole_is_not_quoted() -> None:
    login = LOGIN.format('"a"', '"b"')
    assert fetch(JAAS, "${env:LOGIN}", "profile p", _sources(LOGIN=login)).value == login


def test_the_key_ring() -> None:
    class Ring(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            if service == "locked":
                raise KeyringLocked("canary")
            return {("kafka/prod", "alice"): "hunter2"}.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            raise AssertionError("nothing is written")

    before = keyring.get_keyring()
    keyring.set_keyring(Ring())  # type: ignore[no-untyped-call]  # its constructor has no types
    try:
        assert fetch("client.id", "${keyring:kafka/prod/alice}", "profile p", _sources()).value == "hunter2"
        with pytest.raises(ConfigError, match="add one with keyring set kafka bob"):
            fetch("client.id", "${keyring:kafka/bob}", "profile p", _sources())
        with pytest.raises(ConfigError, match=r"rejected the request \(KeyringLocked\)$"):
            fetch("client.id", "${keyring:locked/bob}", "profile p", _sources())
    finally:
        keyring.set_keyring(before)


def test_without_the_key_ring_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError, match="pip install keyring"):
        fetch("client.id", "${keyring:a/b}", "profile p", _sources())
