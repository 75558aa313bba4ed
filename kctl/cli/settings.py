"""Settings: Kafka properties of one command, merged from all sources.

Precedence, high to low: flag, -X, KCTL_* variable, --command-config file, profile, the client's default.
`kctl.client.config` validates the values.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from kctl.cli.login import (
    OTHER_NAMES,
    PASSWORD,
    USERNAME,
    Withheld,
    with_jaas,
    without_foreign_logins,
)
from kctl.cli.profiles.references import JAAS, Fetched
from kctl.cli.setting import Setting
from kctl.cli.suggestions import Unknown, did_you_mean
from kctl.client.config import (
    KINDS,
    AnyProperty,
    BaseConfig,
    RegistryConfig,
    mask_urls,
    passwords_in_urls,
    read_input,
)
from kctl.client.errors import ConfigError
from kctl.grammar.properties import LARGEST_FILE_BYTES, read_properties

ENVIRONMENT_PREFIX = "KCTL_"
NOT_PROPERTIES = ("KCTL_CACHE", "KCTL_COMPLETION_TIMEOUT_MS", "KCTL_PROFILE", "KCTL_PURE", "KCTL_RUN_PORT")
"""Variables of kctl and its tests that are not Kafka properties."""

Config = TypeVar("Config", bound=BaseConfig)

ALL_KINDS: tuple[type[BaseConfig], ...] = (*KINDS, RegistryConfig)
"""Configs with properties: of the clients, and of a schema registry."""

KNOWN: dict[str, AnyProperty] = {
    name: declared
    for kind in ALL_KINDS
    for declared in kind.PROPERTIES.values()
    for name in (declared.name, declared.alias)
    if name is not None
}
"""All properties of these configs, by each of their names."""

_SOUNDS_SECRET = re.compile(r"passw|pasw|secret|token$|credential|user\.info|jaas|\bkey$|\bpem\b")
_REGISTRY_URL = RegistryConfig.schema_registry_url.name
"""Property whose URL may have a token in place of the user."""
_KEY = re.compile(r"[\w.-]{0,80}")


def is_secret(name: str) -> bool:
    """Return whether a value must never be printed. Words in unknown names, such as `password`, decide."""
    declared = KNOWN.get(name)
    return declared.secret if declared is not None else _SOUNDS_SECRET.search(name.lower()) is not None


def has_password(value: str) -> bool:
    return mask_urls(value) != value


class Settings(NamedTuple):
    """Merged settings, by Kafka property name.

    Attributes:
        parts: values of the references in secrets.
        withheld: logins that are not used, because a higher layer has another address.
    """

    by_name: Mapping[str, Setting]
    parts: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that must never be printed, longest first, because a value may contain another."""
        found = {setting.text for name, setting in self.by_name.items() if is_secret(name)}
        for setting in self.by_name.values():
            found.update(passwords_in_urls(setting.text))
        if JAAS in self.by_name:
            found.update(_of_login(self.by_name[JAAS].text))
        return tuple(sorted({*found, *self.parts}, key=lambda secret: (-len(secret), secret)))

    def with_defaults(self, defaults: Mapping[str, str | int]) -> "Settings":
        """Return settings in which unset properties have the value in `defaults`."""
        below = {name: Setting(value, "kctl") for name, value in defaults.items()}
        return self._replace(by_name=below | dict(self.by_name))

    def with_flags(self, flags: Mapping[str, Setting | None]) -> "Settings":
        """Return settings with these flags, which have precedence."""
        above = {name: setting for name, setting in flags.items() if setting is not None}
        return self._replace(by_name=dict(self.by_name) | above)

    def without(self, names: Collection[str]) -> "Settings":
        return self._replace(by_name={name: each for name, each in self.by_name.items() if name not in names})

    def with_references(self, fetch: Callable[[str, Setting], Fetched]) -> "Settings":
        """Return settings in which `fetch` has resolved the references of profile values. Raises: errors of `fetch`."""
        by_name, parts = dict(self.by_name), list(self.parts)
        for name, setting in self.by_name.items():
            if setting.of_profile:
                fetched = fetch(name, setting)
                by_name[name] = Setting(fetched.value, setting.origin)
                parts.extend(fetched.parts if is_secret(name) else ())
        return self._replace(by_name=by_name, parts=tuple(parts))

    def parse(self, kind: type[Config]) -> Config:
        """Return the typed config for a kind of client.

        Raises: ConfigError: a property is invalid. The message contains the source of the value.
        """
        try:
            return kind.parse({name: setting.value for name, setting in self.by_name.items()})
        except ConfigError as e:
            key = e.key or ""
            setting = self.by_name.get(key)
            if str(e).startswith("unknown property"):
                meant = did_you_mean(Unknown.PROPERTY, key)  # of other tools; the client knows its own
                problem = str(e).partition(": did you mean ")[0]
                e = e if meant is None else ConfigError(f"{problem}: did you mean {meant}?", key=key)
            if setting is None or str(e).startswith(setting.origin):
                raise
            raise ConfigError(f"{setting.origin}: {e}", key=e.key) from None


def merge_settings(
    flags: Mapping[str, Setting],
    overrides: Iterable[str],
    environ: Mapping[str, str],
    command_config: Path | None,
    profile: Mapping[str, Setting] | None = None,
    *,
    file_flag: str = "--command-config",
    keeps_login: bool = False,
) -> Settings:
    """Return the settings of one command.

    Args:
        flags: settings by property name.
        overrides: `key=value` texts of -X. The last value of a key has precedence.
        command_config: Java .properties file, or None. Options use its logins for any address, variables do not.
        profile: properties of the chosen profile, or None.
        file_flag: option that names the file, for errors.
        keeps_login: use the logins of the profile for any address.
    Raises:
        ConfigError: an override or the file is invalid, an override contains a secret, or a user has no password.
    """
    of_file = read_settings_file(command_config, file_flag)
    file, variables, given, of_flags, lowest = (
        {_kafka_name(name): setting for name, setting in layer.items()}
        for layer in (of_file, _of_environment(environ), _of_overrides(overrides), flags, profile or {})
    )
    withheld: tuple[Withheld, ...] = ()
    options = {**given, **of_flags}
    effective = {name: setting for name, setting in variables.items() if name not in options}
    file, of_files = without_foreign_logins(file, {**lowest, **options}, effective, is_profile=False)
    variables, of_environment = without_foreign_logins(variables, {**lowest, **file}, options, is_profile=False)
    if not keeps_login:
        lowest, withheld = without_foreign_logins(lowest, {}, {**file, **variables, **options}, is_profile=True)
    merged: dict[str, Setting] = {}
    rank: dict[str, int] = {}
    for number, layer in enumerate((lowest, file, variables, given, of_flags)):
        merged.update(layer)
        rank.update(dict.fromkeys(layer, number))
    withheld = (*withheld, *of_files, *of_environment)
    try:
        return Settings(with_jaas(merged, rank), withheld=withheld)
    except ConfigError as error:
        if not withheld:
            raise
        raise ConfigError("; ".join(map(str, (error, *withheld))), key=error.key) from None


def _kafka_name(name: str) -> str:
    declared = KNOWN.get(name)
    return declared.name if declared is not None else OTHER_NAMES.get(name, name)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the KCTL_* variables that kctl does not know, sorted.

    They only cause a note, because container platforms set names such as KCTL_SERVICE_HOST for a service called kctl.
    """
    return sorted(
        name
        for name in environ
        if name.startswith(ENVIRONMENT_PREFIX) and name not in NOT_PROPERTIES and _property_of_variable(name) is None
    )


def known_variables() -> list[str]:
    return [ENVIRONMENT_PREFIX + name.upper().replace(".", "_") for name in KNOWN]


def _of_login(jaas: str) -> list[str]:
    """Return the secrets in a sasl.jaas.config, which errors may contain separately."""
    from kctl.client.security import read_jaas  # most runs have no login to read

    try:
        options = read_jaas(jaas).options
    except ConfigError:  # reported where the login is used; then no part of it is known
        return []
    return [value for name, value in options.items() if is_secret(name)]


def read_settings_file(path: Path | None, flag: str) -> dict[str, Setting]:
    """Return the properties of a Java .properties file; empty if `path` is None.

    Args: flag: option of the file, for errors.
    Raises: ConfigError: the file cannot be read, or a line is invalid.
    """
    if path is None:
        return {}
    try:
        content, _ = read_input(path, LARGEST_FILE_BYTES + 1)
    except OSError as e:
        raise ConfigError(f"{flag} {path}: {e.strerror}") from None
    return {name: Setting(value, str(path)) for name, value in read_properties(content, str(path)).items()}


def _of_environment(environ: Mapping[str, str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for variable, value in environ.items():
        if variable.startswith(ENVIRONMENT_PREFIX):
            name = _property_of_variable(variable)
            if name is not None:
                found[name] = Setting(value, f"${variable}")
    return found


def _property_of_variable(variable: str) -> str | None:
    name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", ".")
    return name if name in KNOWN or name in (USERNAME, PASSWORD, *OTHER_NAMES) else None


def _of_overrides(overrides: Iterable[str]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for text in overrides:
        name, value = key_and_value(text)
        if is_secret(name) or has_password(value) or (_kafka_name(name) == _REGISTRY_URL and "@" in value):
            variable = ENVIRONMENT_PREFIX + name.upper().replace(".", "_")
            or_variable = f", into ${variable}," if _property_of_variable(variable) is not None else ""
            raise ConfigError(
                f"-X {name}: other users of this machine can read secrets on the command line. "
                f"Put the secret into a file for --command-config{or_variable} or reference it in a profile",
                key=name,
            )
        found[name] = Setting(value, "-X")
    return found


def key_and_value(override: str) -> tuple[str, str]:
    """Return key and value of a -X override.

    Raises: ConfigError: the override is not key=value. The message has only the key, since the rest may be a secret.
    """
    key, equals, value = override.partition("=")
    key = key.strip()
    if key and equals:
        return key, value
    shown = _KEY.match(key)
    assert shown is not None
    more = "..." if shown[0] != key else ""
    raise ConfigError(f"invalid -X '{shown[0]}{more}': use key=value, such as -X client.id=me")
