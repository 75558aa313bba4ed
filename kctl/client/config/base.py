"""BaseConfig: turns a mapping of Kafka property names into a typed config, or into one clear error.

Owns the steps of parsing; the properties are declared in the subclasses.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from kctl.client.config.foreign import LIBRDKAFKA_HINTS, LIBRDKAFKA_NAMES, REFUSED, is_harmless, why_ignored
from kctl.client.config.property import AnyProperty, Property, mask_urls, shown
from kctl.client.errors import ConfigError
from kctl.client.wording import listed


class BaseConfig:
    """Typed, unchangeable values of every property the class declares.

    Attributes:
        values: typed value by Kafka name, defaults included; the attributes read from here.
        given: what the caller set by hand, by Kafka name, as written.
        ignored: names that were accepted but do nothing here, with the reason.
    """

    __slots__ = ("given", "ignored", "values")

    KIND: ClassVar[str] = "client"
    PROPERTIES: ClassVar[dict[str, AnyProperty]] = {}
    """Declared properties by Kafka name, inherited ones included."""
    INSTEAD: ClassVar[dict[str, str]] = {}
    """Properties of a base class that this kind of client lacks, with the reason."""

    values: dict[str, Any]
    given: dict[str, object]
    ignored: dict[str, str]

    def __init_subclass__(cls) -> None:
        declared = {p.name: p for p in vars(cls).values() if isinstance(p, Property)}
        cls.PROPERTIES = {**cls.PROPERTIES, **declared}

    @classmethod
    def parse(cls, properties: Mapping[str, object] | Self) -> Self:
        """Return the config that the properties describe; one that was parsed before is returned as it is.

        Args:
            properties: values by Kafka property name, as str or as native bool, int or list; None = not given.
        Raises:
            ConfigError: an unknown name (with the nearest known one), a value of the wrong type or out of bounds,
                or two values that contradict each other.
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
        """Log the properties that have no effect, in one record."""
        if self.ignored:
            import logging  # deferred import: most configs have none

            text = "%s config: properties without effect: %s"
            logging.getLogger("kctl.client.config").info(text, self.KIND, listed(self.ignored))

    def with_value(self, name: str, value: object) -> Self:
        """Return a copy in which one property has another value."""
        config = type(self)()
        config.values = {**self.values, name: value}
        config.given, config.ignored = {**self.given, name: value}, self.ignored
        return config

    def is_given(self, declared: Property[Any]) -> bool:
        """Was this property set by hand? For example `config.is_given(ClientConfig.request_timeout_ms)`."""
        return declared.name in self.given

    def to_properties(self, *, secrets: bool = False) -> dict[str, str]:
        """Return what differs from the defaults, as a .properties file would have it.

        Args: secrets: write them in full; without it they read `***`.
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
            raise ConfigError(f"a property name is a text, not {shown(name)}")
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
                f"{declared.name} and {declared.alias} are the same property, and have different values", key=name
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
            raise ConfigError(f"unknown property {shown(name)}{self._nearest(name)}", key=name)
        if not isinstance(raw, str | int | float | list | tuple):
            text = f"{name} takes a string, not {type(raw).__name__}, and has no effect: {reason}"
            raise ConfigError(text, key=name)
        self.ignored[name] = reason

    def _why_not_ours(self, name: str) -> str | None:
        """Say whose property it is, where another kind of client takes it; files are shared between them."""
        from kctl.client.config import KINDS

        owners = [kind.KIND for kind in KINDS if name in kind.PROPERTIES and name not in kind.INSTEAD]
        return f"a property of the {' and the '.join(owners)}" if owners else None

    def _nearest(self, name: str) -> str:
        renamed = LIBRDKAFKA_NAMES.get(name)
        if renamed in self.PROPERTIES:
            return f": Kafka's name is {renamed}"
        if name in LIBRDKAFKA_HINTS:
            return f": {LIBRDKAFKA_HINTS[name]}"
        known = [*self.PROPERTIES, *(p.alias for p in self.PROPERTIES.values() if p.alias)]
        spelled = name.strip().lower().replace("_", ".").replace("-", ".")
        found = nearest_name(spelled, known, likeness=0.7)
        return "" if found is None else f": did you mean {found}?"

    def _settle(self) -> None:
        """Derive the defaults that depend on other values and refuse values that contradict each other."""

    def _default(self, declared: Property[Any], value: object) -> None:
        """Use `value` unless the property was given by hand."""
        if declared.name not in self.given:
            self.values[declared.name] = value

    def _refuse(self, first: Property[Any], second: Property[Any], why: str) -> None:
        """Raise the error that two values contradict each other."""
        raise ConfigError(f"{self._pair(first)} and {self._pair(second)} contradict each other: {why}", key=first.name)

    def _pair(self, declared: Property[Any]) -> str:
        return f"{declared.name}={declared.show(self.values[declared.name])}"


LONGEST_COMPARED = 100
"""Characters of an unknown name that are compared with the known ones: the comparison is quadratic."""


def nearest_name(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the one of some known names that is most like a name, or None if none is near.

    Args: likeness: from 0 to 1, how much of them must be the same.
    """
    from difflib import get_close_matches  # 2 ms of import, wanted only for mistakes

    found = get_close_matches(name[:LONGEST_COMPARED], list(known), n=1, cutoff=likeness)
    return found[0] if found else None
