"""Execution of `kctl profile edit` with an editor. Drafts are checked before they replace the file."""

import os
import shlex
import tempfile
from pathlib import Path

from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, exit_code, file_error
from kctl.cli.profile.check import findings_of, refuse_errors
from kctl.cli.profiles.choice import no_such_profile, read_files
from kctl.cli.profiles.files import read_bytes, read_content
from kctl.cli.profiles.store import Store, open_store, store_of
from kctl.client.errors import ConfigError

DEFAULT_EDITOR = "vi"
TEMPLATE = b"""# Profiles of kctl; kctl profile --help, and kctl profile check.
# current = "dev"
#
# [profiles.dev]
# bootstrap.servers = "localhost:9092"
# security.protocol = "SASL_SSL"
# sasl.mechanism = "PLAIN"
# sasl.jaas.config = '''
# org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="${env:KAFKA_PASSWORD}";'''
"""


def edit_file(environment: Environment, name: str | None, *, project: bool) -> int:
    """Edit the file that contains a profile, or the user's file, and replace it if the draft is valid."""
    store = _store(environment, name, project=project)
    found = read_bytes(store.path)
    before = None if found is None else found[0]
    draft = _write_draft(store.path, TEMPLATE if before is None else before)
    while True:
        _run_editor(environment, draft)
        after = _read_draft(draft)
        if after == (TEMPLATE if before is None else before):
            draft.unlink()
            environment.say("kctl profile: nothing was changed")
            return ExitCode.OK
        try:
            _check(after, before, store, environment)
            store.replace(before, after)
        except (ConfigError, CommandError) as e:
            said = str(e).replace(str(draft), str(store.path))
            if _wants_again(environment, said):
                continue
            raise CommandError(
                exit_code(e), said, f"continue with your draft in {draft}. {store.path} is unchanged"
            ) from None
        draft.unlink()
        environment.say(f"kctl profile: changed {store.path}")
        return ExitCode.OK


def _store(environment: Environment, name: str | None, *, project: bool) -> Store:
    """Return the store of the file to edit: the user's file if `name` is None or a profile file is invalid."""
    own = open_store(environment.environ, environment.clock, project=project)
    if name is None or project:
        return own
    try:
        files = read_files(environment.environ)
    except ConfigError as e:
        environment.say(f"kctl profile: {e}")
        return own
    found = store_of(name, files, environment.environ, environment.clock)
    if found is None:
        raise no_such_profile(name, "", files)
    return found


def _write_draft(path: Path, content: bytes) -> Path:
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix="draft-", suffix=".toml", dir=real.parent)  # 0600
        with open(descriptor, "wb") as file:
            file.write(content)
    except OSError as e:
        raise file_error(f"cannot write {path}", e) from None
    return Path(draft)


def _run_editor(environment: Environment, draft: Path) -> None:
    import subprocess  # deferred import: other commands do not need it

    words = environment.environ.get("VISUAL") or environment.environ.get("EDITOR") or DEFAULT_EDITOR
    try:
        ended = subprocess.run([*shlex.split(words), str(draft)], env=dict(environment.environ), check=False)
    except (OSError, ValueError) as e:
        draft.unlink()
        raise CommandError(
            ExitCode.USAGE, f"cannot run editor {words[:80]!r}: {e}", "set $VISUAL or $EDITOR to an editor"
        ) from None
    if ended.returncode:
        raise CommandError(
            ExitCode.USAGE,
            f"cannot save the changes: the editor exited with code {ended.returncode}",
            f"continue with your draft in {draft}",
        )


def _read_draft(draft: Path) -> bytes:
    """Return the content of the draft. Raises: ConfigError: the editor deleted it, or replaced it with another file."""
    found = read_bytes(draft)
    if found is None:
        raise ConfigError(f"cannot read {draft}: the editor deleted it")
    return found[0]


def _check(after: bytes, before: bytes | None, store: Store, environment: Environment) -> None:
    content = read_content(after, str(store.path))
    try:
        old = read_content(before or b"", str(store.path)).profiles
    except ConfigError:  # the user is repairing it
        old = {}
    for name, properties in content.profiles.items():
        if old.get(name) != properties:
            refuse_errors(findings_of(name, properties, store, environment), f"{store.path}: profile {name}")


def _wants_again(environment: Environment, said: str) -> bool:
    if not environment.stdin_is_tty:
        return False
    environment.say(f"kctl profile: {said}")
    environment.stderr.write("Edit again? [Y/n] ")
    environment.stderr.flush()
    answer = environment.stdin.readline(80)
    return bool(answer) and answer.strip().lower() in (b"", b"y", b"yes")
