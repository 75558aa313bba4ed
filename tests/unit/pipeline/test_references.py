"""Secrets are looked up where the task runs, and never sent."""

import os
from pathlib import Path

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.references import SECRET_NAMES, lent, refuse_plain_secrets, resolve


def test_secret_names_are_keys_and_passwords_alone() -> None:
    assert {"sasl.jaas.config", "ssl.keystore.key", "ssl.key.password"} <= SECRET_NAMES
    assert not {"sasl.mechanism", "bootstrap.servers"} & SECRET_NAMES


def test_references_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "from the environment")
    (tmp_path / "key").write_bytes(b"from a file\n")
    (tmp_path / "client.properties").write_text("sasl.jaas.config=from = a property\n")
    given = {
        "ssl.key.password": "env:CANARY",
        "ssl.keystore.key": f"file:{tmp_path}/key",
        "sasl.jaas.config": f"file:{tmp_path}/client.properties#sasl.jaas.config",
        "client.id": "env:CANARY",
        "fetch.max.bytes": 5,
    }
    refuse_plain_secrets(given)
    assert resolve(given) == given | {
        "ssl.key.password": "from the environment",
        "ssl.keystore.key": "from a file",
        "sasl.jaas.config": "from = a property",
    }


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("env:KCTL_NO_SUCH_VARIABLE", "the environment of the task has no variable KCTL_NO_SUCH_VARIABLE"),
        ("file:/no/such/file", "/no/such/file .* on the machine of the task: No such file"),
        ("file:relative", "'file:relative': use file: with an absolute path"),
        ("file:{folder}/client.properties#other", "has no property other"),
        ("file:{folder}", "Is a directory"),
    ],
)
def test_unresolvable_reference_is_refused_without_the_secret(tmp_path: Path, reference: str, words: str) -> None:
    (tmp_path / "client.properties").write_text("ssl.key.password=hidden\n")
    with pytest.raises(ConfigError, match=words) as caught:
        resolve({"ssl.key.password": reference.format(folder=tmp_path)})
    assert "hidden" not in str(caught.value)


def test_a_secret_in_plain_text_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match=r"ssl.key.password is a secret, which would be sent .* env:NAME") as caught:
        refuse_plain_secrets({"ssl.key.password": "canary"})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://me:canary@a", "http://b,https://canary@a:1/x", "HTTP://:canary@a"])
def test_a_registrys_url_with_a_user_is_a_secret(url: str) -> None:
    with pytest.raises(ConfigError, match=r"schema.registry.url is a secret, which would be sent") as caught:
        refuse_plain_secrets({"schema.registry.url": url})
    assert "canary" not in str(caught.value)
    refuse_plain_secrets({"schema.registry.url": "http://b,https://a:1/@x"})


def test_a_secret_is_lent_by_a_variable_that_goes_away() -> None:
    given = {"ssl.key.password": "canary", "sasl.jaas.config": "env:ELSEWHERE", "client.id": "me"}
    with lent(given) as referring:
        refuse_plain_secrets(referring)
        assert "canary" not in str(referring)
        assert {**referring, "ssl.key.password": "canary"} == given
        assert resolve({"ssl.key.password": referring["ssl.key.password"]}) == {"ssl.key.password": "canary"}
    assert "canary" not in os.environ.values()
