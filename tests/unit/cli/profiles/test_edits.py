"""Edits change what they are asked to, and nothing that somebody wrote by hand."""

import tomllib

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.profiles.edits import put_current, put_profile, remove_profile
from kctl.cli.profiles.files import Content, read_content
from kctl.client.errors import ConfigError

HAND_WRITTEN = '''# Clusters of mine.

current = "dev"   # the one on this machine

# Local.
[profiles.dev]
bootstrap.servers = "localhost:9092"   # sandbox # of mine
"client.id" = 'me'
# how long I wait
request.timeout.ms = 5_000

# kept: about nothing in particular

# Production: careful!
[profiles.prod]
"bootstrap.servers" = ["a:9093", "b:9093"]
security.protocol = "SSL"
ssl.truststore.certificates = """
-----BEGIN CERTIFICATE-----
# not a comment
[not.a.table]
-----END CERTIFICATE-----
"""
'''


def test_values_are_replaced_added_and_removed_in_place() -> None:
    edited = put_profile(
        HAND_WRITTEN,
        "dev",
        {"bootstrap.servers": "other:9092", "request.timeout.ms": "5000", "linger.ms": "1"},
        "f",
    )
    assert edited == HAND_WRITTEN.replace("localhost:9092", "other:9092").replace("\"client.id\" = 'me'\n", "").replace(
        "5_000\n", '5_000\n"linger.ms" = "1"\n'
    )


def test_a_value_of_many_lines_is_replaced_whole() -> None:
    wanted = {
        "bootstrap.servers": "a:9093,b:9093",
        "security.protocol": "SSL",
        "ssl.truststore.certificates": "first\nsecond",
    }
    edited = put_profile(HAND_WRITTEN, "prod", wanted, "f")
    start = HAND_WRITTEN.index("ssl.truststore")
    assert edited.startswith(HAND_WRITTEN[:start])
    assert edited[start:] == 'ssl.truststore.certificates = """\nfirst\nsecond"""\n'


def test_a_new_profile_goes_to_the_end() -> None:
    added = '\n[profiles.new]\n"client.id" = "x"\n'
    assert put_profile(HAND_WRITTEN, "new", {"client.id": "x"}, "f") == HAND_WRITTEN + added
    assert put_profile(HAND_WRITTEN.rstrip("\n"), "new", {"client.id": "x"}, "f") == HAND_WRITTEN + added
    assert put_profile("", "new", {"client.id": "x"}, "f") == added.lstrip("\n")


def test_the_same_again_changes_nothing() -> None:
    for name, properties in read_content(HAND_WRITTEN.encode(), "f").profiles.items():
        assert put_profile(HAND_WRITTEN, name, properties, "f") == HAND_WRITTEN


def test_a_profile_goes_with_the_words_about_it() -> None:
    without_prod = remove_profile(HAND_WRITTEN, "prod", "f")
    assert without_prod == HAND_WRITTEN[: HAND_WRITTEN.index("# Production")]
    without_dev = remove_profile(HAND_WRITTEN, "dev", "f")
    assert without_dev.startswith("# Clusters of mine.\n")
    assert "# kept: about nothing in particular\n" in without_dev
    assert without_dev.endswith(HAND_WRITTEN[HAND_WRITTEN.index("# Production") :])
    for gone in ("Local", "how long", "dev", "current"):
        assert gone not in without_dev


def test_current() -> None:
    assert put_current(HAND_WRITTEN, "prod", "f") == HAND_WRITTEN.replace('"dev"   #', '"prod"   #')
    assert "current" not in put_current(HAND_WRITTEN, None, "f")
    assert put_current("", "a", "f") == 'current = "a"\n'
    assert put_current("# top\n\n# a\n[profiles.a]\n", "a", "f") == '# top\n\ncurrent = "a"\n\n# a\n[profiles.a]\n'


@pytest.mark.parametrize(
    "text",
    [
        'profiles.a."client.id" = "x"\n',
        '[profiles]\na."client.id" = "x"\n',
        '[profiles]\na = {"client.id" = "x"}\n',
        '[profiles.a]\n[profiles.a.client]\nid = "x"\n',
        '[ profiles . "a" ]\r\nclient . id = "x"\r\n',
    ],
)
def test_other_layouts_are_edited_or_refused_but_never_damaged(text: str) -> None:
    before = read_content(text.encode(), "f")
    assert before == Content(None, {"a": {"client.id": "x"}})
    refused = 0
    for wanted in ({"client.id": "y"}, {"client.id": "x", "acks": "1"}, {"acks": "1"}):
        try:
            edited = put_profile(text, "a", wanted, "f")
        except ConfigError:
            edited = text
            refused += 1
        assert read_content(edited.encode(), "f").profiles["a"] in (wanted, before.profiles["a"])
    assert refused <= 2
    assert read_content(remove_profile(text, "a", "f").encode(), "f").profiles == {}


def test_several_values_in_one_inline_table_are_left_to_their_author() -> None:
    text = '[profiles]\na = {"client.id" = "x", acks = "1"}\n'
    with pytest.raises(ConfigError, match="cannot change f: kctl does not support the layout"):
        put_profile(text, "a", {"client.id": "y", "acks": "1"}, "f")


def test_lines_of_other_systems_stay() -> None:
    text = '[profiles.a]\r\nx = "1" # one\r\ny = "2"\r\n'
    assert put_profile(text, "a", {"x": "3", "y": "2"}, "f") == text.replace('"1"', '"3"')


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda name: name != "")
keys = st.sampled_from(["client.id", "acks", "a.b.c", "x y", 'q"uote', "ä"])
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
profiles = st.dictionaries(keys, values, max_size=4)
comments = st.lists(st.sampled_from(["", "# one", "  # two = [", '#"""']), max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file as somebody could have written it."""
    parts: list[str] = []
    for name, properties in draw(st.dictionaries(names, profiles, max_size=4)).items():
        parts += draw(comments)
        parts.append(tomli_w.dumps({"profiles": {name: {}}}).rstrip("\n"))
        for key, value in properties.items():
            parts += draw(comments)
            parts.append(tomli_w.dumps({key: value}, multiline_strings=draw(st.booleans())).rstrip("\n"))
    return "\n".join([*parts, *draw(comments)]) + draw(st.sampled_from(["", "\n"]))


@given(documents(), names, profiles)
def test_put_then_read_gives_what_was_put_and_leaves_the_rest(text: str, name: str, wanted: dict[str, str]) -> None:
    before = read_content(text.encode(), "f")
    edited = put_profile(text, name, wanted, "f")
    assert read_content(edited.encode(), "f").profiles == {**before.profiles, name: wanted}
    assert _comments(edited) == _comments(text)
    assert put_profile(edited, name, wanted, "f") == edited
    removed = remove_profile(edited, name, "f")
    assert read_content(removed.encode(), "f").profiles == {k: v for k, v in before.profiles.items() if k != name}


@given(documents(), st.none() | names)
def test_current_then_read(text: str, name: str | None) -> None:
    edited = put_current(text, name, "f")
    assert read_content(edited.encode(), "f").current == name
    assert _comments(edited) == _comments(text)
    assert read_content(put_current(edited, None, "f").encode(), "f") == read_content(text.encode(), "f")


def _comments(text: str) -> int:
    """Count the lines that are comments, by hiding what stands in values."""
    document = tomllib.loads(text)
    hidden = str(document)
    return sum(
        line.lstrip().startswith("#") and line.strip() in ("# one", "# two = [", '#"""') and line not in hidden
        for line in text.splitlines()
    )
