"""Logins: their properties, the address to which kctl sends them, and sasl.jaas.config from user and password."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.profiles.references import JAAS, Reference, escape, split_references
from kctl.cli.setting import Setting
from kctl.client.config import read_bootstrap
from kctl.client.errors import ConfigError

if TYPE_CHECKING:
    from kctl.client.security import JaasEntry

SERVERS, PROTOCOL, MECHANISM = "bootstrap.servers", "security.protocol", "sasl.mechanism"
USERNAME, PASSWORD = "sasl.username", "sasl.password"
OTHER_NAMES = {"sasl.mechanisms": MECHANISM}
"""Kafka's names of librdkafka properties."""
_LOGIN = (JAAS, USERNAME, PASSWORD, "ssl.key.password")
_LOGIN_PREFIXES = ("sasl.oauthbearer.", "sasl.kerberos.", "ssl.keystore.")
CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"
_PASSWORD_MODULES = ("PlainLoginModule", "ScramLoginModule", "Krb5LoginModule")
_REGISTRY_LOGIN = tuple(
    f"schema.registry.{name}" for name in ("basic.auth.user.info", "bearer.auth.token", "bearer.auth.client.secret")
)
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Login modules that need a user and a password, by SASL mechanism."""
_FIRST_MARK = 0xF0000
"""First private-use character; they replace references while a login is parsed."""
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_of_login(name: str) -> bool:
    """Return whether a property is a user, password, token, keytab or client key."""
    return name in _LOGIN or name.startswith(_LOGIN_PREFIXES)


class Withheld(NamedTuple):
    """A login that is not used, because a higher layer of settings has another address.

    Attributes:
        owner: source of the login.
        is_of_profile: whether the login is in a profile; `-C` would use it.
        origin: source of the other address.
        address: property that contains the address, such as bootstrap.servers.
    """

    owner: str
    is_of_profile: bool
    origin: str
    address: str

    def __str__(self) -> str:
        other = "different servers" if self.address == SERVERS else f"a different {self.address}"
        return f"kctl does not use the login of {self.owner}, because {self.origin} sets {other}"


class _Bound(NamedTuple):
    """Secrets that belong to an address.

    Attributes:
        address: property that contains the address.
        is_secret: return whether a property is such a secret.
        places: return the parts of an address, for comparison.
    """

    address: str
    is_secret: "Callable[[str, Setting], bool]"
    places: "Callable[[Setting], frozenset[object]]"


def without_foreign_logins(
    layer: Mapping[str, Setting],
    below: Mapping[str, Setting],
    above: Mapping[str, Setting],
    *,
    is_profile: bool,
) -> "tuple[dict[str, Setting], tuple[Withheld, ...]]":
    """Return a layer of settings without secrets whose address a higher layer replaces, and the removed logins.

    A variable or file without an address belongs to any address, because the command line accepts no secrets.

    Args:
        layer: settings of the profile, the file or the environment.
        below: merged settings of the lower layers.
        above: merged settings of the higher layers.
    """
    kept, withheld = dict(layer), []
    for bound in _BOUND:
        other = above.get(bound.address)
        if other is None or (bound.address not in layer and not is_profile):
            continue
        secrets = [name for name, setting in kept.items() if bound.is_secret(name, setting)]
        if not secrets or _is_part(bound, other, layer.get(bound.address)):
            continue
        kept = {name: setting for name, setting in kept.items() if name not in secrets}
        if bound.address == SERVERS:
            kept = _without_sasl(kept, {**below, **above})
        owner = layer[secrets[0]].origin if is_profile else layer[bound.address].origin
        withheld.append(Withheld(owner, is_profile, other.origin, bound.address))
    return kept, tuple(withheld)


def _is_part(bound: _Bound, other: Setting, own: Setting | None) -> bool:
    try:
        return own is not None and bound.places(other) <= bound.places(own)
    except ValueError:  # an error of its own where the address is used; references are not fetched for this
        return False


def _without_sasl(kept: dict[str, Setting], others: Mapping[str, Setting]) -> dict[str, Setting]:
    """Remove SASL from the security protocol in `kept`, unless `others` contain a login."""
    has_login = any(is_of_login(name) and name.startswith("sasl.") for name in others)
    if not has_login and PROTOCOL in kept:
        kept[PROTOCOL] = kept[PROTOCOL]._replace(value=kept[PROTOCOL].text.upper().replace("SASL_", ""))
    return kept


def _urls(setting: Setting) -> frozenset[object]:
    return frozenset(each.strip().rstrip("/") for each in setting.text.split(","))


def _is_of_endpoint(name: str, setting: Setting) -> bool:
    """Return whether a property may contain the client secret for the token endpoint."""
    if name == JAAS:
        return not any(module in setting.text for module in _PASSWORD_MODULES)
    return name in (CLIENT_ID, CLIENT_SECRET)


def _is_of_registry(name: str, _setting: Setting) -> bool:
    return name in _REGISTRY_LOGIN or name.startswith("schema.registry.ssl.key")


_BOUND = (
    _Bound(SERVERS, lambda name, _: is_of_login(name), lambda each: frozenset(read_bootstrap(each.value)[0])),
    _Bound("sasl.oauthbearer.token.endpoint.url", _is_of_endpoint, _urls),
    _Bound("schema.registry.url", _is_of_registry, _urls),
    _Bound(
        "schema.registry.bearer.auth.issuer.endpoint.url",
        lambda name, _: name == "schema.registry.bearer.auth.client.secret",
        _urls,
    ),
)
"""Addresses that have logins. Object stores read theirs, and their endpoint, from variables of their services."""


# --- user and password ------------------------------------------------------------------------------------------------


def make_jaas(mechanism: str, user: str, password: str) -> str:
    """Return the sasl.jaas.config of a user.

    Raises: ConfigError: the mechanism does not use a password.
    """
    return _jaas(mechanism, in_quotes(user), in_quotes(password))


def with_jaas(by_name: Mapping[str, Setting], rank: "Mapping[str, int]") -> dict[str, Setting]:
    """Return settings with sasl.jaas.config in place of sasl.username and sasl.password.

    A sasl.jaas.config from the same or a higher layer has precedence.

    Args: rank: layer number of each property. Higher layers have precedence.
    Raises: ConfigError: user, password or mechanism is missing, or the mechanism does not use a password.
    """
    found = dict(by_name)
    given = [name for name in (USERNAME, PASSWORD) if name in found]
    if not given:
        return found
    user, password = found.pop(USERNAME, None), found.pop(PASSWORD, None)
    if JAAS in found and max(rank[name] for name in given) <= rank[JAAS]:
        return found
    if user is None and password is not None and JAAS in found:
        user = _user_of(found[JAAS])
        if user is None:  # a login of another kind, which has no password
            return found
    if user is None or password is None:
        other = PASSWORD if password is None else USERNAME
        raise ConfigError(
            f"{given[0]} needs {other}: set ${_variable(other)}, or use a file with --command-config", key=given[0]
        )
    mechanism = found.get(MECHANISM)
    if mechanism is None:
        known = ", ".join(MODULES)
        raise ConfigError(f"{USERNAME} needs {MECHANISM}: use {known}", key=MECHANISM)
    is_written = user.of_profile or password.of_profile
    jaas = _jaas(mechanism.text, _quoted(user, is_written), _quoted(password, is_written))
    found[JAAS] = password._replace(value=jaas, of_profile=is_written)
    return found


def read_written_login(value: str) -> "JaasEntry | None":
    """Parse the sasl.jaas.config of a profile, with its references unchanged. Return None if it is invalid.

    References are replaced during parsing, because their commands may contain quotes.
    """
    from kctl.client.security import JaasEntry, read_jaas  # most runs have no login to read

    try:
        pieces = list(split_references(value))
        aside = [piece for piece in pieces if isinstance(piece, Reference)]
        marks = iter(range(len(aside)))
        text = "".join(escape(piece) if isinstance(piece, str) else chr(_FIRST_MARK + next(marks)) for piece in pieces)
        entry = read_jaas(text)
    except (ValueError, ConfigError):
        return None
    back = {_FIRST_MARK + at: str(reference) for at, reference in enumerate(aside)}
    return JaasEntry(entry.module, {name: option.translate(back) for name, option in entry.options.items()})


def written_with_jaas(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return the properties of a profile with sasl.jaas.config in place of sasl.username and sasl.password.

    A sasl.username without a password stays, because the password may come from another source.

    Raises: ConfigError: see `with_jaas`.
    """
    if not {USERNAME, PASSWORD, *OTHER_NAMES} & set(properties):
        return properties
    named = {OTHER_NAMES.get(name, name): Setting(value, "", of_profile=True) for name, value in properties.items()}
    if USERNAME in named and named.keys().isdisjoint((PASSWORD, JAAS)):
        return {name: setting.text for name, setting in named.items()}
    return {name: setting.text for name, setting in with_jaas(named, dict.fromkeys(named, 0)).items()}


def _user_of(jaas: Setting) -> Setting | None:
    entry = read_written_login(jaas.text if jaas.of_profile else escape(jaas.text))
    if entry is None or "username" not in entry.options:
        return None
    return jaas._replace(value=entry.options["username"], of_profile=True)


def _jaas(mechanism: str, user: str, password: str) -> str:
    module = MODULES.get(mechanism.upper())
    if module is None:
        known = ", ".join(MODULES)
        raise ConfigError(
            f"sasl.mechanism {mechanism[:40]!r} does not use a username and password: use {known}", key=MECHANISM
        )
    return f'{module} required username="{user}" password="{password}";'


def _quoted(setting: Setting, is_written: bool) -> str:
    """Escape a value for the quotes of a login, except its references, whose values are escaped later."""
    if not is_written:
        return in_quotes(setting.text)
    written = setting.text if setting.of_profile else escape(setting.text)
    try:
        pieces = list(split_references(written))
    except ValueError as e:
        raise ConfigError(f"{setting.origin}: {e}") from None
    return "".join(str(piece) if isinstance(piece, Reference) else in_quotes(escape(piece)) for piece in pieces)


def in_quotes(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _variable(name: str) -> str:
    return "KCTL_" + name.upper().replace(".", "_")
