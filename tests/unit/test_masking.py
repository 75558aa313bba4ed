"""Secrets in text of servers, as they may be encoded."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from kctl.client.masking import without_secrets

SECRETS = [
    "canary-7",
    'can"ary',
    "can\\ary",
    "canäry/+7",
    "can ary&<7>",
    "can\nary",
    "can%41ry",
    "can😀ary",
    "can\udcffary",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_is_masked_as_servers_encode_it(secret: str) -> None:
    percent = quote(secret, safe="", errors="surrogateescape")
    forms = [
        secret,
        json.dumps(secret)[1:-1],
        "".join(char if char.isalnum() and char.isascii() else json.dumps(char)[1:-1] for char in secret),
        secret.replace("&", "\\u0026").replace("<", "\\u003C").replace("/", "\\/"),
        percent,
        percent.lower(),
        quote_plus(secret, errors="surrogateescape"),
    ]
    assert [without_secrets(f"x {form}, {form}", [secret]) for form in forms] == ["x ***, ***"] * len(forms)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "a", "ab", "\0ann\0"])
def test_secret_within_base64_is_masked(secret: str, before: str) -> None:
    data = f"{before}{secret}:".encode("utf-8", "surrogateescape")
    for encode in (b64encode, urlsafe_b64encode):
        masked = without_secrets(f"x {encode(data).decode()}", [secret])
        left = masked.removeprefix("x ").replace("***", "")
        assert "***" in masked
        assert len(left) <= len(encode(before.encode())) + 4


def test_secret_of_two_characters_is_kept_because_words_contain_it() -> None:
    assert without_secrets("an abbey", ["ab", "", "a"]) == "an abbey"


def test_secret_that_contains_another_is_masked_first() -> None:
    assert without_secrets("me:canary", ["canary", "me:canary"]) == "***"
