"""Single values: what each kind takes, gives back and refuses."""

import pytest

from kctl.client.config import ClientConfig, ConsumerConfig
from kctl.client.config.property import (
    AnyProperty,
    GzipLevel,
    Property,
    choice,
    flag,
    optional_text,
    secret,
    text,
    whole,
    words,
)
from kctl.client.errors import ConfigError

LIMIT = whole("a.limit.ms", 5, "A limit.", low=0, high=100)
ANY = whole("any", 5, "Unbounded above.", low=-1)
FLAG = flag("a.flag", True, "A flag.")
COLOUR = choice("a.colour", "red", ("red", "Blue"), "A colour.", {"org.Blau": "Blue"})
LIST = words("a.list", (), "A list.")
TEXT = text("a.text", "", "A text.")
NAME = optional_text("a.name", "A name.", filled=True)
PASSWORD = secret("a.password", "A secret.")
GZIP = Property("a.level", GzipLevel(), -1, "A level.")


@pytest.mark.parametrize(
    ("declared", "raw", "value"),
    [
        (LIMIT, "0", 0),
        (LIMIT, " 100 ", 100),
        (LIMIT, "+7", 7),
        (LIMIT, 7, 7),
        (ANY, "-1", -1),
        (ANY, 2**31 - 1, 2**31 - 1),
        (FLAG, "TRUE", True),
        (FLAG, "false", False),
        (FLAG, False, False),
        (COLOUR, "RED", "red"),
        (COLOUR, "blue", "Blue"),
        (COLOUR, "org.blau", "Blue"),
        (LIST, "a, b ,a", ("a", "b")),
        (LIST, ["a", "b"], ("a", "b")),
        (LIST, ("a",), ("a",)),
        (LIST, "", ()),
        (TEXT, " x ", "x"),
        (TEXT, "", ""),
        (NAME, "x", "x"),
        (PASSWORD, "", None),
        (GZIP, "-1", -1),
        (GZIP, 9, 9),
    ],
)
def test_property_value_is_parsed(declared: AnyProperty, raw: object, value: object) -> None:
    read = declared.read(raw)
    assert read == value
    assert type(read) is type(value)
    assert declared.read(declared.kind.write(value)) == value


@pytest.mark.parametrize(
    ("declared", "raw", "error"),
    [
        (LIMIT, "101", "a.limit.ms takes an integer from 0 to 100, not '101'"),
        (LIMIT, -1, "a.limit.ms takes an integer from 0 to 100, not -1"),
        (LIMIT, "5s", "a.limit.ms takes an integer from 0 to 100, not '5s'"),
        (LIMIT, "1_0", "a.limit.ms takes an integer from 0 to 100, not '1_0'"),
        (LIMIT, "٣", "a.limit.ms takes an integer from 0 to 100, not '٣'"),
        (LIMIT, True, "a.limit.ms takes an integer from 0 to 100, not True"),
        (LIMIT, 1.0, "a.limit.ms takes an integer from 0 to 100, not 1.0"),
        (LIMIT, "9" * 1000, "a.limit.ms takes an integer from 0 to 100, not '" + "9" * 79 + "...'"),
        (ANY, 2**31, "any takes an integer of -1 or more, not 2147483648"),
        (FLAG, "yes", "a.flag takes true or false, not 'yes'"),
        (FLAG, 1, "a.flag takes true or false, not 1"),
        (COLOUR, "green", "a.colour takes one of red, Blue, not 'green'"),
        (COLOUR, "\x1b[31m", "a.colour takes one of red, Blue, not '\\x1b[31m'"),
        (LIST, "a,,b", "a.list takes a comma-separated list, each a non-empty text, not 'a,,b'"),
        (LIST, [1], "a.list takes a comma-separated list, each a non-empty text, not [1]"),
        (TEXT, 1, "a.text takes a text, not 1"),
        (NAME, "", "a.name takes a non-empty text, not ''"),
        (PASSWORD, 1234, "a.password takes a text, not the given value"),
        (GZIP, 0, "a.level takes -1 (the default of zlib) or an integer from 1 to 9, not 0"),
    ],
)
def test_property_value_out_of_range_or_of_another_type_is_refused(
    declared: AnyProperty, raw: object, error: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        declared.read(raw)
    assert str(caught.value) == error
    assert caught.value.key == declared.name


def test_a_property_reads_as_its_declaration_on_the_class() -> None:
    declared = ClientConfig.request_timeout_ms
    assert (declared.name, declared.default, declared.secret) == ("request.timeout.ms", 30_000, False)


@pytest.mark.parametrize("kind", [ClientConfig, ConsumerConfig])
def test_attributes_are_the_names_in_snake_case(kind: type[ClientConfig]) -> None:
    for name, declared in kind.PROPERTIES.items():
        assert getattr(kind, name.replace(".", "_")) is declared
        assert declared.doc.endswith(".")
        assert declared.read(declared.kind.write(declared.default)) == declared.default if declared.default else True


def test_passwords_and_keys_are_secret() -> None:
    for name, declared in ConsumerConfig.PROPERTIES.items():
        looks_secret = name.endswith(("password", ".key", "jaas.config", ".token", "certificates", "chain", "secret"))
        assert declared.secret == looks_secret, name
