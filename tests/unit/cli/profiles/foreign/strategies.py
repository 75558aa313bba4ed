"""Profiles as somebody could have them, and what commands make of them on the way to a file."""

from collections.abc import Mapping

from hypothesis import strategies as st

from kctl.cli.login import make_jaas
from kctl.cli.profiles.edits import put_profile
from kctl.cli.profiles.files import read_content
from kctl.cli.profiles.references import unescape
from kctl.cli.settings import KNOWN
from kctl.client.config.property import Flag, OptionalText, Text, Whole
from kctl.client.security import read_jaas

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
filled = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def _values(name: str) -> st.SearchStrategy[str]:
    kind = KNOWN[name].kind
    if name == "bootstrap.servers":
        return st.sampled_from(["a:9092", "SASL_SSL://b.example:9093", "[::1]:9092,c:1"])
    if name == "sasl.jaas.config":
        return st.builds(make_jaas, st.sampled_from(["PLAIN", "scram-sha-512"]), texts, texts)
    if isinstance(kind, Whole):
        low = max(kind.low, 1)
        return st.integers(low, min(kind.high, low + 8)).map(str)
    if isinstance(kind, Flag):
        return st.sampled_from(["true", "false", "TRUE"])
    if isinstance(kind, Text | OptionalText):
        return filled.filter(lambda text: bool(text.strip()))
    return st.just(kind.write(KNOWN[name].default))


def properties(names: list[str]) -> st.SearchStrategy[dict[str, str]]:
    """Dictionaries of values that the properties take."""
    return st.fixed_dictionaries({}, optional={name: _values(name) for name in names})


def through_toml(profile: Mapping[str, str]) -> dict[str, str | None]:
    """Return what an export gets of a profile that was written to a file and read again."""
    text = put_profile("", "p", profile, "f")
    found = read_content(text.encode(), "f").profiles["p"]
    return {name: unescape(value) for name, value in found.items()}


def login_of(jaas: str) -> tuple[str, str]:
    """Return user and password of a sasl.jaas.config."""
    options = read_jaas(jaas).options
    return options["username"], options["password"]
