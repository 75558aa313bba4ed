"""Any text is either properties or a ConfigError; what is written reads back."""

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.config import KINDS, ClientConfig
from kctl.client.config.endpoints import Endpoint, read_bootstrap
from kctl.client.errors import ConfigError
from kctl.grammar.properties import read_properties, write_properties

ODD = st.text(alphabet=st.sampled_from("ab=: \t\f\n\r\\#!u0041é\0"), max_size=40)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = sorted({name for kind in KINDS for name in kind.PROPERTIES})
VALUES = st.one_of(
    TEXTS, st.integers(), st.booleans(), st.floats(), st.lists(TEXTS, max_size=3), st.none(), st.binary(max_size=5)
)


@given(st.one_of(ODD, TEXTS, st.binary(max_size=60)))
def test_any_text_is_properties_or_a_config_error(source: str | bytes) -> None:
    try:
        properties = read_properties(source)
    except ConfigError:
        return
    assert all(isinstance(text, str) for pair in properties.items() for text in pair)


@given(st.dictionaries(st.one_of(ODD, TEXTS).filter(bool), st.one_of(ODD, TEXTS)))
def test_written_properties_read_back_the_same(properties: dict[str, str]) -> None:
    assert read_properties(write_properties(properties)) == properties


@given(st.sampled_from(KINDS), st.dictionaries(st.one_of(st.sampled_from(NAMES), TEXTS), VALUES, max_size=4))
def test_any_mapping_is_a_config_or_a_config_error(kind: type[ClientConfig], properties: dict[str, object]) -> None:
    try:
        config = kind.parse({"bootstrap.servers": "a:1", **properties})
    except ConfigError as e:
        assert str(e)  # noqa: PT017 - most texts raise nothing
        return
    again = kind.parse({"bootstrap.servers": "a:1", **config.to_properties(secrets=True)})
    assert again.values == config.values


@given(
    st.lists(
        st.tuples(st.from_regex(r"[a-z0-9._][a-z0-9._-]{0,19}", fullmatch=True), st.integers(1, 65535)), min_size=1
    )
)
def test_endpoints_read_back(pairs: list[tuple[str, int]]) -> None:
    endpoints = tuple(dict.fromkeys(Endpoint(host, port) for host, port in pairs))
    assert read_bootstrap(",".join(map(str, endpoints))) == (endpoints, None)


@given(st.text(alphabet=st.sampled_from("a1:[]/.,% @S"), max_size=20))
def test_any_text_is_endpoints_or_a_value_error(text: str) -> None:
    try:
        endpoints, _ = read_bootstrap(text)
    except ValueError:
        return
    assert all(endpoint.host and 1 <= endpoint.port <= 65535 for endpoint in endpoints)
