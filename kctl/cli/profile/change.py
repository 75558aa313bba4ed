"""Execution of `kctl profile use`, `create`, `edit -X`, `delete` and `trust`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.login import PASSWORD, USERNAME, make_jaas
from kctl.cli.profile.check import findings_of, refuse_errors
from kctl.cli.profiles import edits
from kctl.cli.profiles.allowances import allowances, watched_files
from kctl.cli.profiles.check import NEEDS_PASSWORD
from kctl.cli.profiles.choice import VARIABLE, Files, no_such_profile, read_files
from kctl.cli.profiles.files import Content, read_bytes, read_content
from kctl.cli.profiles.foreign.transfer import is_literal_secret
from kctl.cli.profiles.locations import foreign_project_files, working_folder
from kctl.cli.profiles.project_tree import MOST_BYTES, MOST_FILES
from kctl.cli.profiles.references import JAAS, KINDS, Reference
from kctl.cli.profiles.store import Store, open_store, store_of
from kctl.cli.profiles.trust import distrust, trust
from kctl.cli.settings import key_and_value
from kctl.client.errors import ConfigError
from kctl.client.wording import listed

WITH_LOGIN = "SASL_SSL"
"""Default security protocol of a new profile with a login."""
MOST_NAMED = 8
"""Maximum number of project files that a notice lists."""


class Login(NamedTuple):
    """Login options of `create`. `password_from`: source of the password, such as `env:NAME`."""

    mechanism: str | None
    user: str | None
    password_from: str | None


def use_profile(environment: Environment, name: str | None, *, project: bool, quiet: bool) -> int:
    """Make a profile the current profile, or unset the current profile if `name` is None."""
    environ = environment.environ
    if name is not None:
        files = read_files(environ)
        if name not in files.names():
            raise no_such_profile(name, "", files)
    store = open_store(environ, environment.clock, project=project)
    store.change(lambda text, where: edits.put_current(text, name, where))
    if quiet:
        return ExitCode.OK
    state = "unset" if name is None else f"set to {name}"
    environment.say(f"kctl profile: current profile {state} in {store.path}")
    if environ.get(VARIABLE) is not None:
        environment.say(f"kctl profile: ${VARIABLE} is set and takes precedence")
    return ExitCode.OK


def create_profile(
    environment: Environment,
    name: str,
    given: Mapping[str, str],
    overrides: Sequence[str],
    login: Login,
    *,
    make_current: bool,
    force: bool,
    project: bool,
    quiet: bool,
) -> int:
    """Create a profile from options and overrides, and return the exit code.

    Raises: ConfigError, CommandError: an option is invalid, or see `put_new_profile`.
    """
    properties = dict(given) | read_overrides(overrides) | _of_login(login)
    if login != Login(None, None, None):
        protocol = properties.setdefault("security.protocol", WITH_LOGIN)
        if not protocol.upper().startswith("SASL_"):
            raise ConfigError(
                f"invalid --security-protocol {protocol!r} for a login: use SASL_SSL, or SASL_PLAINTEXT without TLS",
                key="security.protocol",
            )
    store = open_store(environment.environ, environment.clock, project=project)
    put_new_profile(environment, store, name, properties, make_current=make_current, force=force, quiet=quiet)
    if USERNAME in properties and PASSWORD not in properties and not quiet:
        environment.say(f"kctl profile: note: property {PASSWORD} is {NEEDS_PASSWORD}")
    return ExitCode.OK


def put_new_profile(
    environment: Environment,
    store: Store,
    name: str,
    properties: Mapping[str, str],
    *,
    make_current: bool,
    force: bool,
    quiet: bool = False,
) -> None:
    """Create a profile, or replace it with `force`. The first profile of a file becomes the current profile.

    Raises: ConfigError, CommandError: the name is invalid, the profile exists, or the profile cannot work.
    """
    if edits.NAME.fullmatch(name) is None:
        raise ConfigError(f"invalid profile name {name[:80]!r}: use up to 64 letters, digits, and . _ -")
    refuse_errors(findings_of(name, properties, store, environment), f"profile {name}")
    was: list[Content] = []

    def edit(text: str, where: str) -> str:
        before = read_content(text.encode(), where)
        was.append(before)
        if name in before.profiles and not force:
            raise CommandError(
                ExitCode.USAGE,
                f"cannot create profile {name}: the profile already exists in {where}",
                "replace the profile with --force, or change it with: kctl profile edit",
            )
        after = edits.put_profile(text, name, properties, where)
        becomes = make_current or (before.current is None and not before.profiles)
        return edits.put_current(after, name, where) if becomes else after

    store.change(edit)
    becomes = make_current or (was[0].current is None and not was[0].profiles)
    state = "Commands without -C use the profile" if becomes else f"To use the profile, add -C {name}"
    if not quiet:
        verb = "replaced" if name in was[0].profiles else "created"
        environment.say(f"kctl profile: {verb} profile {name} in {store.path}. {state}")


def change_profile(environment: Environment, name: str, overrides: Sequence[str], unset: Sequence[str]) -> int:
    files = read_files(environment.environ)
    store = store_of(name, files, environment.environ, environment.clock)
    if store is None:
        raise no_such_profile(name, "", files)
    new = read_overrides(overrides)

    def edit(text: str, where: str) -> str:
        before = dict(read_content(text.encode(), where).profiles.get(name, {}))
        for key in unset:
            if before.pop(key, None) is None:
                raise ConfigError(f"cannot unset {key[:80]!r} in profile {name}: the property is not set", key=key)
        after = before | new
        refuse_errors(findings_of(name, after, store, environment), f"profile {name}")
        return edits.put_profile(text, name, after, where)

    store.change(edit)
    environment.say(f"kctl profile: changed profile {name} in {store.path}")
    return ExitCode.OK


def delete_profiles(environment: Environment, names: Sequence[str], *, quiet: bool) -> int:
    """Delete profiles. If any name is unknown, delete none."""
    files = read_files(environment.environ)
    for name in names:
        if name not in files.names():
            raise no_such_profile(name, "", files)
    for name in names:
        store = store_of(name, files, environment.environ, environment.clock)
        assert store is not None  # checked above
        store.change(lambda text, where, name=name: edits.remove_profile(text, name, where))  # type: ignore[misc]  # bound now
        if not quiet:
            environment.say(f"kctl profile: deleted profile {name} from {store.path}")
    if not quiet and _has_current(files) and not _has_current(read_files(environment.environ)):
        environment.say("kctl profile: no current profile is set now. Set one with: kctl profile use PROFILE")
    return ExitCode.OK


def _has_current(files: Files) -> bool:
    return any(file.content.current is not None for file in files.in_order())


def trust_project(environment: Environment, *, revoke: bool) -> int:
    """Trust the project file in its current state, or revoke its trust."""
    store = open_store(environment.environ, environment.clock, project=True)
    found = read_bytes(store.path)
    if found is None:
        foreign = listed(foreign_project_files(working_folder()))
        others = f", except {foreign}, which another user owns" if foreign else ""
        raise ConfigError(f"no {store.path.name} found in this directory or its parents{others}")
    if revoke:
        distrust(store.path, environment.environ)
        environment.say(f"kctl profile: {store.path} is no longer trusted")
        return ExitCode.OK
    content = read_content(found[0], str(store.path))
    trust(store.path, found[0], environment.environ)
    _report_trust(environment, store.path, content)
    return ExitCode.OK


def _report_trust(environment: Environment, path: Path, content: Content) -> None:
    names = listed(content.profiles) or "none"
    environment.say(f"kctl profile: {path} is trusted until the file changes. Profiles in the file: {names}")
    for allowance in allowances(content):
        environment.say(f"  {allowance}")
    _, files, unwatched = watched_files(path, content)
    if files:
        names = ", ".join(os.path.relpath(each, path.parent) for each in files) if len(files) <= MOST_NAMED else ""
        what = f"one of these files changes: {names}" if names else f"one of {len(files)} project files changes"
        environment.say(f"kctl profile: trust the file again if {what}")
    for command in unwatched:
        environment.say(
            f"kctl profile: warning: kctl cannot detect changes of files that this command runs: {command}. The "
            f"project has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB. Run the script with: sh PATH"
        )


def read_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """Return the properties of -X. Secrets must be references, because other users can see the command line.

    Raises: ConfigError: an override is not key=value, or contains a literal secret.
    """
    found: dict[str, str] = {}
    for text in overrides:
        key, value = key_and_value(text)
        if is_literal_secret(key, value):
            raise ConfigError(
                f"-X {key}: other users of this machine can read secrets on the command line. "
                f"Use a reference: -X '{key}=${{env:NAME}}', or with file:, cmd:, keyring:, or prompt:",
                key=key,
            )
        found[key] = value
    return found


def _of_login(login: Login) -> dict[str, str]:
    found = {} if login.mechanism is None else {"sasl.mechanism": login.mechanism}
    if login.user is None and login.password_from is None:
        return found
    if login.user is None or login.password_from is None or login.mechanism is None:
        raise ConfigError("--sasl-mechanism, --user, and --password-from must be used together")
    kind, colon, argument = login.password_from.partition(":")
    if kind not in KINDS or not colon or not argument:
        raise ConfigError(
            "--password-from needs a reference, not the password itself: env:NAME, file:PATH, cmd:COMMAND, "
            "keyring:SERVICE/USER, or prompt:WORDS"
        )
    jaas = make_jaas(login.mechanism, login.user.replace("${", "$${"), _SLOT)
    return {**found, JAAS: jaas.replace(_SLOT, str(Reference(kind, argument)))}


_SLOT = "\0"
"""Placeholder of the password reference, inserted after quoting, since its command may contain quotes."""
