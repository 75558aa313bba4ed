"""New password from a file, a reference, or a terminal prompt with repetition.

The password is masked on stderr. Reading from a pipe fails at the API timeout.
"""

import os
from pathlib import Path

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.notices import WaitLimit
from kctl.cli.options import Common
from kctl.cli.profiles.references import LARGEST_SECRET_BYTES, Sources, ask_on_terminal, fetch, read_to_end
from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.errors import ConfigError
from kctl.client.wording import one_line
from kctl.posix import BINARY, CLOEXEC, NOCTTY, NONBLOCK

STDIN = "-"
LONGEST_PASSWORD_BYTES = 1024
_KEY = "password"


def read_password(common: Common, user: str, file: str | None, source: str | None) -> str:
    """Return the new password of a user.

    Raises:
        ConfigError: the password is missing or invalid, or cannot be read.
        CommandError: a file had no end within the API timeout, or there is no terminal.
        click.UsageError: both a file and a source are given.
    """
    if file is not None and source is not None:
        raise click.UsageError("--password-file and --password-from cannot be combined.")
    if file is not None:
        where, text = "--password-file", _of_file(common, file)
    elif source is not None:
        where, text = "--password-from", _of_source(common, source)
    else:
        where, text = "terminal prompt", _asked(common, user)
    common.environment.secrets.values = (*common.environment.secrets.values, text)
    _check(where, text)
    return text


def _check(where: str, text: str) -> None:
    if not text:
        raise ConfigError(f"{where}: the password is empty")
    if "\n" in text or "\r" in text or "\0" in text:
        raise ConfigError(f"{where}: the password must be a single line without NUL characters")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ConfigError(f"{where}: the password is not valid UTF-8") from None
    if size > LONGEST_PASSWORD_BYTES:
        raise ConfigError(f"{where}: the password is longer than {LONGEST_PASSWORD_BYTES} bytes")


def _of_file(common: Common, file: str) -> str:
    """Return the text without its final line end."""
    timer = Timer(common.environment.clock, common.settings.parse(AdminConfig).default_api_timeout_ms)
    try:
        descriptor = os.dup(common.environment.stdin.fileno()) if file == STDIN else _open(file)
    except (OSError, ValueError) as e:
        reason = (e.strerror if isinstance(e, OSError) else None) or "not a path"
        raise ConfigError(f"--password-file: cannot read {one_line(file)}: {reason}") from None
    try:
        raw = read_to_end(descriptor, timer)
    except OSError as e:
        raise ConfigError(f"--password-file: cannot read {one_line(file)}: {e.strerror}") from None
    finally:
        os.close(descriptor)
    if raw is None:
        limit = WaitLimit(timer.timeout_ms, "--api-timeout")
        what = f"timed out after {limit} while reading --password-file {one_line(file)}"
        raise CommandError(ExitCode.API_TIMEOUT, what, "close the write end of the pipe")
    if len(raw) > LARGEST_SECRET_BYTES:
        raise ConfigError(f"--password-file: {one_line(file)} is larger than {LARGEST_SECRET_BYTES} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"--password-file: {one_line(file)} is not valid UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def _open(file: str) -> int:
    """Open a file, without waiting for the writer of a pipe."""
    return os.open(file, os.O_RDONLY | BINARY | NONBLOCK | NOCTTY | CLOEXEC)


def _of_source(common: Common, source: str) -> str:
    environment = common.environment
    sources = Sources(environment.environ, Path.cwd(), environment.clock, ask_on_terminal)
    return fetch(_KEY, f"${{{source}}}", "--password-from", sources).value


def _asked(common: Common, user: str) -> str:
    sources = Sources(common.environment.environ, Path.cwd(), common.environment.clock, ask_on_terminal)
    words = one_line(user).replace("{", "").replace("}", "")
    try:
        first = fetch(_KEY, f"${{prompt:New password of {words}}}", "", sources).value
        second = fetch(_KEY, "${prompt:Repeat the password}", "", sources).value
    except ConfigError:
        raise CommandError(
            ExitCode.USAGE,
            f"cannot prompt for the password of {words}: no terminal found",
            "use --password-file FILE or --password-from SOURCE",
        ) from None
    if first != second:
        common.environment.secrets.values = (*common.environment.secrets.values, first, second)
        raise ConfigError("the passwords do not match: nothing was changed")
    return first
