from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from kctl.client.config.foreign import LIBRDKAFKA_HINTS, LIBRDKAFKA_NAMES, REFUSED, is_harmless, why_ignored
from kctl.client.config.property import AnyProperty, Property, mask_urls, shown
from kctl.client.errors import ConfigError
from kctl.client.wording import listed


class BaseConfig:
    """Typed, immutable values of all properties that the class declares.

    Attributes:
        values: typed values by Kafka name, including defaults.
        given: explicitly set values by Kafka name, as written.
        ignored: accepted names without effect, with the reason.
    """

    __slots__ = ("given", "ignored", "values")

    KIND: ClassVar[str] = "client"
    PROPERTIES: ClassVar[dict[str, AnyProperty]] = {}
    """Declared properties by Kafka name, including inherited ones."""
    INSTEAD: ClassVar[dict[str, str]] = {}
    """Properties of a base class that this kind of client does not have, with the reason."""

    values: dict[str, Any]
    given: dict[str, object]
    ignored: dict[str, str]

    def __init_subclass__(cls) -> None:
        declared = {p.name: p for p in vars(cls).values() if isinstance(p, Property)}
        cls.PROPERTIES = {**cls.PROPERTIES, **declared}

    @classmethod
    def parse(cls, properties: Mapping[str, object] | Self) -> Self:
        """Parse properties and return their config; a parsed config is returned unchanged.

        Args:
            properties: values by Kafka name, as str or native bool, int, or list; None means not given.

        Raises:
            ConfigError: a name is unknown (the message has the nearest known name), a value is invalid, or values
                contradict each other.
        """
        if isinstance(properties, cls):
            return properties
        if isinstance(properties, BaseConfig):
            raise TypeError(f"config must be a {cls.__name__} or a mapping, not a {type(properties).__name__}")
        if not isinstance(properties, Mapping):
            raise TypeError(f"config must be a mapping of property names to values, not {shown(properties)}")
        config = cls()
        config.values = {name: declared.default for name, declared in cls.PROPERTIES.items()}
        config.given = {}
        config.ignored = {}
        aliases = {p.alias: p for p in cls.PROPERTIES.values() if p.alias is not None}
        for name, raw in properties.items():
            if raw is not None:
                config._take(name, raw, aliases)
        config._settle()
        config._log_ignored()
        return config

    def _log_ignored(self) -> None:
        if self.ignored:
            import logging  # deferred import: most configs have none

            text = "%s config: ignored properties: %s"
            logging.getLogger("kctl.client.config").info(text, self.KIND, listed(self.ignored))

    def with_value(self, name: str, value: object) -> Self:
        config = type(self)()
        config.values = {**self.values, name: value}
        config.given, config.ignored = {**self.given, name: value}, self.ignored
        return config

    def is_given(self, declared: Property[Any]) -> bool:
        """Return whether a property was set explicitly, as in `config.is_given(ClientConfig.request_timeout_ms)`."""
        return declared.name in self.given

    def to_properties(self, *, secrets: bool = False) -> dict[str, str]:
        """Return the values that differ from the defaults, as in a .properties file.

        Args: secrets: whether to include secrets; if not, they are `***`.
        """
        return {
            name: declared.kind.write(self.values[name]) if secrets else declared.show(self.values[name])
            for name, declared in self.PROPERTIES.items()
            if self.values[name] != declared.default
        }

    def __repr__(self) -> str:
        body = ", ".join(f"{name}={mask_urls(repr(value))}" for name, value in self.to_properties().items())
        return f"{type(self).__name__}({body})"

    # --- steps of parsing ---------------------------------------------------------------------------------------------

    def _take(self, name: object, raw: object, aliases: Mapping[str, AnyProperty]) -> None:
        if not isinstance(name, str):
            raise ConfigError(f"property names must be strings, not {shown(name)}")
        if name in self.INSTEAD:
            self.ignored[name] = self.INSTEAD[name]
            return
        declared = self.PROPERTIES.get(name) or aliases.get(name)
        if declared is None:
            self._take_foreign(name, raw)
            return
        value = declared.read(raw, written_as=name)
        if declared.name in self.given and self.values[declared.name] != value:
            raise ConfigError(
                f"{declared.name} and {declared.alias} are the same property, but have different values",
                key=name,
            )
        self.given[declared.name] = raw
        self.values[declared.name] = value

    def _take_foreign(self, name: str, raw: object) -> None:
        if name in REFUSED:
            if not is_harmless(name, raw):
                raise ConfigError(f"{name}: {REFUSED[name]}", key=name)
            return
        reason = why_ignored(name) or self._why_not_ours(name)
        if reason is None:
            raise ConfigError(self._unknown(name), key=name)
        if not isinstance(raw, str | int | float | list | tuple):
            text = f"{name} must be a string, not {type(raw).__name__} (the property has no effect: {reason})"
            raise ConfigError(text, key=name)
        self.ignored[name] = reason

    def _why_not_ours(self, name: str) -> str | None:
        """Return the kinds of clients that have this property, as text, because clients share property files."""
        from kctl.client.config import KINDS

        owners = [kind.KIND for kind in KINDS if name in kind.PROPERTIES and name not in kind.INSTEAD]
        return f"the property belongs to the {' and the '.join(owners)}" if owners else None

    def _unknown(self, name: str) -> str:
        """Return the error text for an unknown name, with the nearest known name or advice."""
        text = f"unknown property {shown(name)}"
        renamed = LIBRDKAFKA_NAMES.get(name)
        if renamed in self.PROPERTIES:
            return f"{text}: use {renamed}"
        if name in LIBRDKAFKA_HINTS:
            return f"{text}: {LIBRDKAFKA_HINTS[name]}"
        known = [*self.PROPERTIES, *(p.alias for p in self.PROPERTIES.values() if p.alias)]
        spelled = name.strip().lower().replace("_", ".").replace("-", ".")
        found = nearest_name(spelled, known, likeness=0.7)
        return text if found is None else f"{text}: did you mean {found}?"

    def _settle(self) -> None:
        """Set defaults that depend on other values, and reject contradicting values."""

    def _default(self, declared: Property[Any], value: object) -> None:
        if declared.name not in self.given:
            self.values[declared.name] = value

    def _refuse(self, first: Property[Any], second: Property[Any], why: str) -> None:
        raise ConfigError(f"{self._pair(first)} conflicts with {self._pair(second)}: {why}", key=first.name)

    def _pair(self, declared: Property[Any]) -> str:
        return f"{declared.name}={declared.show(self.values[declared.name])}"


LONGEST_COMPARED = 100
"""Number of characters of an unknown name to compare with known names; the comparison is quadratic."""


def nearest_name(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the most similar known name, or None. Args: likeness: minimum similarity, from 0 to 1."""
    from difflib import get_close_matches  # deferred import: 2 ms

    found = get_close_matches(name[:LONGEST_COMPARED], list(known), n=1, cutoff=likeness)
    return found[0] if found else None
