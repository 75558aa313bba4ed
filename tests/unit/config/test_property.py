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
        (LIMIT, "101", "invalid a.limit.ms '101': use an integer from 0 to 100"),
        (LIMIT, -1, "invalid a.limit.ms -1: use an integer from 0 to 100"),
        (LIMIT, "5s", "invalid a.limit.ms '5s': use an integer from 0 to 100"),
        (LIMIT, "1_0", "invalid a.limit.ms '1_0': use an integer from 0 to 100"),
        (LIMIT, "٣", "invalid a.limit.ms '٣': use an integer from 0 to 100"),
        (LIMIT, True, "invalid a.limit.ms True: use an integer from 0 to 100"),
        (LIMIT, 1.0, "invalid a.limit.ms 1.0: use an integer from 0 to 100"),
        (LIMIT, "9" * 1000, "invalid a.limit.ms '" + "9" * 79 + "...': use an integer from 0 to 100"),
        (ANY, 2**31, "invalid any 2147483648: use an integer of -1 or more"),
        (FLAG, "yes", "invalid a.flag 'yes': use true or false"),
        (FLAG, 1, "invalid a.flag 1: use true or false"),
        (COLOUR, "green", "invalid a.colour 'green': use one of red, Blue"),
        (COLOUR, "\x1b[31m", "invalid a.colour '\\x1b[31m': use one of red, Blue"),
        (LIST, "a,,b", "invalid a.list 'a,,b': use a comma-separated list (each item: a non-empty string)"),
        (LIST, [1], "invalid a.list [1]: use a comma-separated list (each item: a non-empty string)"),
        (TEXT, 1, "invalid a.text 1: use a string"),
        (NAME, "", "invalid a.name '': use a non-empty string"),
        (PASSWORD, 1234, "invalid a.password: use a string"),
        (GZIP, 0, "invalid a.level 0: use -1 (the default of zlib) or an integer from 1 to 9"),
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
