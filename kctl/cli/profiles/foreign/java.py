"""Properties files of Java clients.

Differs from Kafka: the login properties of librdkafka are accepted, as in --command-config.
"""

from collections.abc import Mapping

from kctl.cli.login import PASSWORD, USERNAME, written_with_jaas
from kctl.cli.profiles.foreign.librdkafka import ITS_OWN
from kctl.cli.profiles.foreign.transfer import Read, taken
from kctl.cli.profiles.references import JAAS, escape
from kctl.client.errors import ConfigError
from kctl.grammar.properties import read_properties, write_properties


def read_java(raw: bytes, name: str) -> Read:
    """Return the properties of a file. Raises: ConfigError: a line or property is invalid."""
    notes: list[str] = []
    found = dict(read_properties(raw, name))
    login = {each: escape(found.pop(each)) for each in (USERNAME, PASSWORD) if each in found}
    properties = taken(found, notes)
    if notes and ITS_OWN & set(found):
        notes.append(f"{', '.join(sorted(ITS_OWN & set(found)))}: librdkafka properties need --from librdkafka")
    if len(login) == 1 and JAAS not in properties:
        given, missing = (USERNAME, PASSWORD) if USERNAME in login else (PASSWORD, USERNAME)
        raise ConfigError(f"{name} has {given} without {missing}: a login needs both", key=given)
    if login:
        reason = "omitted: sasl.jaas.config already has a login" if JAAS in properties else "saved as sasl.jaas.config"
        notes.append(f"{' and '.join(login)}: {reason}")
        properties = dict(written_with_jaas({**properties, **login}))
    return Read(properties, notes)


def write_java(values: Mapping[str, str | None]) -> tuple[str, list[str]]:
    """Return a properties file for Java clients, and a note for each omitted secret.

    Args: values: resolved values by property; None for secrets to omit.
    """
    given = {name: value for name, value in values.items() if value is not None}
    notes = [f"{name}: secret omitted. To include secrets, add --with-secrets" for name in values if name not in given]
    header = "".join(f"# {line}\n" for line in ("Written by kctl profile export.", *notes))
    return header + write_properties(given), notes
