"""Execution of `kctl profile import` and `export`."""

import os
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from kctl.cli.data_out import DataOut
from kctl.cli.document_file import read_document
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.profile.change import put_new_profile
from kctl.cli.profiles.choice import Chosen, find_profile, read_files
from kctl.cli.profiles.foreign.java import read_java, write_java
from kctl.cli.profiles.foreign.librdkafka import ITS_OWN, read_librdkafka
from kctl.cli.profiles.foreign.rpk import read_rpk
from kctl.cli.profiles.foreign.transfer import LARGEST_FILE_BYTES, Read, checked, count_secrets
from kctl.cli.profiles.references import Sources, ask_on_terminal, fetch
from kctl.cli.profiles.store import open_store
from kctl.cli.settings import has_password, is_secret
from kctl.client.wording import counted

YAML_SUFFIXES = (".yaml", ".yml")


def import_profile(
    environment: Environment,
    name: str,
    file: str,
    form: str | None,
    rpk_profile: str | None,
    *,
    make_current: bool,
    force: bool,
    project: bool,
) -> int:
    try:
        raw = read_document(Path(file), LARGEST_FILE_BYTES, environment.stdin)
    except CommandError as e:
        if not os.path.isfile(name) or os.path.exists(file):
            raise
        hint = f"put NAME first: kctl profile import {quote(file)} {quote(name)}"
        raise CommandError(e.code, str(e), hint) from None
    where = "stdin" if file == "-" else file
    form = form or ("rpk" if rpk_profile is not None else _guess(raw, where))
    read = checked(_readers(raw, where, rpk_profile)[form]())
    if not read.properties:
        hint = "set the format of the file with --from"
        raise CommandError(ExitCode.USAGE, f"cannot import {where} as {form}: no known properties found", hint)
    store = open_store(environment.environ, environment.clock, project=project)
    put_new_profile(environment, store, name, read.properties, make_current=make_current, force=force)
    properties = counted(len(read.properties), "property", "properties")
    environment.say(f"kctl profile: {properties} imported from {where} as {form}")
    for note in read.notes:
        environment.say(f"kctl profile: {note}")
    secrets = count_secrets(read.properties)
    if secrets:
        saved = f"{counted(secrets, 'secret')} saved in {store.path} (mode 0600)"
        environment.say(f"kctl profile: {saved}. To keep secrets out of the file, use ${{env:NAME}}")
    return ExitCode.OK


def export_profile(environment: Environment, name: str, *, with_secrets: bool, to: Path | None) -> int:
    """Write a profile for Java clients to stdout or to a private file."""
    chosen = find_profile(name, "", read_files(environment.environ), environment.environ)
    text, notes = write_java(_values(chosen, environment, with_secrets=with_secrets))
    content = text.encode()
    if to is None:
        out = DataOut(environment.stdout)
        out.write(content)
        out.flush()
    else:
        from kctl.cli.profiles.writing import replace_file

        replace_file(to, lambda _: content, environment.clock)
    for note in notes:
        environment.say(f"kctl profile: {note}")
    return ExitCode.OK


def _readers(raw: bytes, where: str, rpk_profile: str | None) -> dict[str, Callable[[], Read]]:
    return {
        "java": lambda: read_java(raw, where),
        "librdkafka": lambda: read_librdkafka(raw, where),
        "rpk": lambda: read_rpk(raw, where, rpk_profile),
    }


def _guess(raw: bytes, where: str) -> str:
    if Path(where).suffix.lower() in YAML_SUFFIXES:
        return "rpk"
    lines = [line.strip() for line in raw.splitlines()]
    if any(line.rstrip(b" ") == b"kafka_api:" for line in lines):
        return "rpk"
    keys = {line.partition(b"=")[0].strip().decode("utf-8", "replace") for line in lines if not line.startswith(b"#")}
    return "librdkafka" if any(key in ITS_OWN or key.startswith("topic.") for key in keys) else "java"


def _values(chosen: Chosen, environment: Environment, *, with_secrets: bool) -> dict[str, str | None]:
    """Return the values to write. Without `with_secrets`, values that are or contain secrets are None."""
    sources = Sources(environment.environ, chosen.file.path.parent, environment.clock, ask_on_terminal)
    values: dict[str, str | None] = {}
    for name, value in chosen.properties.items():
        hides = (is_secret(name) or has_password(value)) and not with_secrets
        fetched = None if hides else fetch(name, value, chosen.origin, sources).value
        if fetched is not None and has_password(fetched) and not with_secrets:  # the reference contained the password
            fetched = None
        values[name] = fetched
    return values
