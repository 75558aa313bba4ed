"""References to secrets, which tasks resolve.

    env:NAME          an environment variable; with a local master, tasks inherit the driver's variables
    file:/path        the content of a file, without the trailing newline
    file:/path#key    a property of a .properties file, such as one for --command-config

Plain-text secrets are rejected, because Spark's plans, event log and network traffic show data that is pickled to
tasks.
"""

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kctl.client.config import KINDS, BaseConfig, RegistryConfig, read_input
from kctl.client.errors import ConfigError
from kctl.grammar.properties import LARGEST_FILE_BYTES, read_properties

ENV, FILE = "env:", "file:"
_LENT = "KCTL_LENT_"
_numbers = itertools.count(1)
_KINDS: tuple[type[BaseConfig], ...] = (*KINDS, RegistryConfig)
_DECLARED = frozenset(
    name
    for kind in _KINDS
    for declared in kind.PROPERTIES.values()
    if declared.secret
    for name in (declared.name, declared.alias)
    if name is not None
)
SECRET_NAMES = _DECLARED | {f"schema.registry.{name}" for name in _DECLARED if name.startswith("ssl.")}
"""Properties with secret values."""
_URLS = RegistryConfig.schema_registry_url.name
_USER_IN_URL = re.compile(r"://[^/@]*@")


_REFERRING = SECRET_NAMES | {_URLS}


def is_secret(name: str, value: object) -> bool:
    """Return whether a value is a secret: the property is in SECRET_NAMES, or a registry URL has a user or token."""
    return name in SECRET_NAMES or (name == _URLS and _USER_IN_URL.search(str(value)) is not None)


def is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith((ENV, FILE))


def refuse_plain_secrets(properties: Mapping[str, object]) -> None:
    """Raise ConfigError if a secret is not a reference."""
    for name, value in properties.items():
        if is_secret(name, value) and value and not is_reference(value):
            raise ConfigError(
                f"{name} is a secret, which would be sent to the tasks in plain text: use env:NAME or file:/path",
                key=name,
            )


@contextmanager
def lent(properties: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Pass plain secrets to tasks of a local master in environment variables, which exist until the context ends.

    Yields the properties with references instead of secrets. A Spark session that is already active does not see the
    variables.
    """
    made: dict[str, str] = {}
    referring = dict(properties)
    for name, value in properties.items():
        if is_secret(name, value) and value and not is_reference(value):
            variable = f"{_LENT}{os.getpid()}_{next(_numbers)}"
            made[variable] = str(value)
            referring[name] = f"{ENV}{variable}"
    os.environ.update(made)
    try:
        yield referring
    finally:
        for variable in made:
            os.environ.pop(variable, None)


def resolve(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the properties with references replaced by their secrets.

    Raises:
        ConfigError: a variable, file or property does not exist. The message has the reference, never a secret.
    """
    return {
        name: resolved_text(name, value) if name in _REFERRING and isinstance(value, str) else value
        for name, value in properties.items()
    }


def resolved_text(name: str, value: str) -> str:
    """Return the secret of a reference, or a value that is not a reference.

    Args:
        name: name of the property, for errors.

    Raises: ConfigError: as `resolve`.
    """
    if value.startswith(ENV):
        variable = value.removeprefix(ENV)
        found = os.environ.get(variable)
        if found is None:
            raise ConfigError(
                f"cannot resolve {name}: the environment of the task has no variable {variable}", key=name
            )
        return found
    if value.startswith(FILE):
        path, hash_sign, key = value.removeprefix(FILE).partition("#")
        content = _read(name, path)
        if not hash_sign:
            return content.decode("utf-8", "surrogateescape").rstrip("\r\n")
        properties = read_properties(content, path)
        if key not in properties:
            raise ConfigError(f"cannot resolve {name}: the file {path} has no property {key}", key=name)
        return properties[key]
    return value


def _read(name: str, path: str) -> bytes:
    if not os.path.isabs(path):
        raise ConfigError(f"invalid {name} 'file:{path[:200]}': use file: with an absolute path", key=name)
    try:
        content, _ = read_input(path, LARGEST_FILE_BYTES + 1)
    except OSError as e:
        raise ConfigError(
            f"cannot read the file {path} of {name} on the machine of the task: {e.strerror}", key=name
        ) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise ConfigError(f"cannot resolve {name}: the file {path} is larger than {LARGEST_FILE_BYTES} bytes", key=name)
    return content
