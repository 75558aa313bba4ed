"""sasl.jaas.config: quoting, and errors that do not repeat the secret."""

import pytest

from kctl.client.errors import ConfigError
from kctl.client.security.jaas import read_jaas

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ('"secret"', "secret"),
        ("'secret'", "secret"),
        ("secret", "secret"),
        ("12345", "12345"),
        ('"two words; a=b"', "two words; a=b"),
        (r'"say \"hi\" \\ \t\101"', 'say "hi" \\ \tA'),
        ("'it\\'s'", "it's"),
        ('"it\'s"', "it's"),
        ('""', ""),
        ("p/*a//b", "p/*a//b"),
        ('"// no comment /* */"', "// no comment /* */"),
    ],
)
def test_values(written: str, password: str) -> None:
    entry = read_jaas(f'{PLAIN} required\n username="alice"\n  password={written};')
    assert (entry.module, entry.options) == ("PlainLoginModule", {"username": "alice", "password": password})


def test_comments_and_case_of_the_flag() -> None:
    assert read_jaas(f"/* a */ {PLAIN} REQUIRED // b\n a=b /* c; */ ;").options == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "use the form: LoginModuleClass"),
        ("   ", "use the form: LoginModuleClass"),
        (PLAIN, "use the form: LoginModuleClass"),
        (f"{PLAIN} username=hunter2;", "at character 57: the login module must be followed by one of required"),
        (f"{PLAIN} required username=hunter2", "the value must end with a semicolon"),
        (f"{PLAIN} required password=hun ter2;", "option 2 is not in the form"),
        (f'{PLAIN} required password="hun"ter2";', "the closing quote is missing"),
        (f'{PLAIN} required password="hun"ter2;', "option 2 is not in the form"),
        (f'{PLAIN} required password="hun\nter2";', "the closing quote is missing"),
        (f"{PLAIN} required password=;", "option 1 has no value"),
        (f"{PLAIN} required password=hunter2; {PLAIN} required;", "exactly one login module"),
    ],
)
def test_errors_say_where_and_never_what(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        read_jaas(text)
    assert "hun" not in str(caught.value)
    assert "ter2" not in str(caught.value)


def test_a_required_option() -> None:
    entry = read_jaas(f"{PLAIN} required username=alice password='';")
    assert entry.require("username") == "alice"
    with pytest.raises(ConfigError, match="PlainLoginModule needs password"):
        entry.require("password")


def test_an_entry_does_not_show_its_options() -> None:
    assert "hunter2" not in repr(read_jaas(f"{PLAIN} required password=hunter2;"))
