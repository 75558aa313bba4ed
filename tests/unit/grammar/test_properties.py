"""The grammar of .properties files."""

import pytest

from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError
from kctl.grammar.properties import LARGEST_FILE_BYTES, read_properties, write_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=1\nb:2\nc 3\nd\t=\t4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("a = b = c", {"a": "b = c"}),
        ("  # comment\n! another\n\n \t\na=# no comment", {"a": "# no comment"}),
        ("# a comment does not go on \\\na=1", {"a": "1"}),
        ("a=one, \\\n    two, \\\r\n\tthree\nb=2", {"a": "one, two, three", "b": "2"}),
        ("a=even \\\\\nb=2", {"a": "even \\", "b": "2"}),
        ("a=\\\n# not a comment", {"a": "# not a comment"}),
        ("a=end\\", {"a": "end"}),
        ("a\\=b\\:c\\ d=1", {"a=b:c d": "1"}),
        (r"a=\t\n\r\f\q\\", {"a": "\t\n\r\fq\\"}),
        (r"a=\u0041\u00e9\ud83d\ude00", {"a": "Aé\U0001f600"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a= trailing ", {"a": "trailing "}),
        ("a=1\na=2", {"a": "2"}),
        ("", {}),
        ("a=1\rb=2", {"a": "1", "b": "2"}),
        ('x=org.Y required username="u" \\\n  password="p";', {"x": 'org.Y required username="u" password="p";'}),
    ],
)
def test_reading(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties
    assert read_properties(text.encode()) == properties


def test_bytes_are_utf_8_or_else_latin_1() -> None:
    assert read_properties("\ufeffa=é".encode()) == {"a": "é"}
    assert read_properties("a=é".encode("latin-1")) == {"a": "é"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a=1\nb=\\u12", r"f line 2: \\u must be followed by four hexadecimal digits"),
        ("a=1\n\n# c\nb=\\u12g4", r"f line 4: \\u must be"),
        ("a=one\\\n two\\\n \\uXYZW", r"f line 1: \\u must be"),
        ("a=\\ud83d", "f line 1: a .u escape is only half of a surrogate pair"),
        ("a=1\n = 2", "f line 2: the line has a value but no key"),
    ],
)
def test_errors_name_the_line(text: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        read_properties(text, "f")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than the limit of 1048576"):
        read_properties(b"#" * (LARGEST_FILE_BYTES + 1))


def test_writing() -> None:
    written = write_properties({"a b": " c d ", "#x": "#y", "é": "\U0001f600", "n": "1\n2\\"})
    assert written == ("a\\ b=\\ c d \n\\#x=\\#y\n\\u00e9=\\ud83d\\ude00\nn=1\\n2\\\\\n")
    assert written.isascii()


def test_canonical_names_of_bootstrap_servers_are_refused_by_name() -> None:
    given = {"bootstrap.servers": "a:1", "client.dns.lookup": "resolve_canonical_bootstrap_servers_only"}
    with pytest.raises(ConfigError, match="resolve_canonical_bootstrap_servers_only is not supported"):
        ClientConfig.parse(given)
