"""Control sockets of running sandboxes, which `kctl sandbox fault` and `status` find.

The sockets are in a private directory in $XDG_RUNTIME_DIR or the system's temporary directory.
"""

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import Listing
from kctl.cli.formats.rows import Row
from kctl.posix import HAS_USERS, is_owned, user_id
from kctl.sandbox.control_socket import ask_status, remove_left_over

PATIENCE_S = 10.0
"""Timeout of a control command; each takes milliseconds."""
COLUMNS = ("node_id", "address", "leaders", "faults", "control")
_ENDING = ".sandbox"


def sockets_folder(environ: Mapping[str, str]) -> Path:
    """Return the directory of this user's control sockets. Raises: OSError: there is no temporary directory."""
    base = environ.get("XDG_RUNTIME_DIR", "")
    return Path(base, "kctl") if os.path.isabs(base) else Path(tempfile.gettempdir(), f"kctl-{user_id() or 0}")


def new_socket(environ: Mapping[str, str]) -> Path | None:
    """Return the path for the control socket of this process, or None if there is no private directory."""
    if not HAS_USERS:
        return None
    try:
        folder = sockets_folder(environ)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return folder / f"{os.getpid()}{_ENDING}" if _is_private(folder) and os.access(folder, os.W_OK) else None


def running_sandboxes(environ: Mapping[str, str]) -> dict[Path, Any]:
    """Return the state of each running sandbox of this user. Delete sockets of killed sandboxes."""
    try:
        folder = sockets_folder(environ)
    except OSError:
        return {}
    if not folder.is_dir() or not _is_private(folder):
        return {}
    found = {}
    for path in sorted(folder.glob(f"*{_ENDING}")):
        try:
            found[path] = _status_at(path)
        except ConnectionRefusedError:
            remove_left_over(path)
        except (OSError, ValueError):
            continue
    return found


def chosen_socket(environ: Mapping[str, str], control: Path | None) -> Path:
    """Return `control`, or the socket of the only running sandbox.

    Raises: CommandError: not exactly one sandbox is running.
    """
    if control is not None:
        return control
    found = running_sandboxes(environ)
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise no_sandbox()
    listed = "; ".join(f"{state['bootstrap']}: --control {path}" for path, state in found.items())
    raise CommandError(
        ExitCode.USAGE,
        f"cannot select a sandbox: {len(found)} sandboxes are running",
        f"choose one with --control PATH: {listed}",
    )


def read_status(environ: Mapping[str, str], control: Path | None) -> dict[Path, Any]:
    """Return the state of the sandbox at `control`, or of all. Raises: CommandError: the sandbox does not respond."""
    if control is None:
        return running_sandboxes(environ)
    try:
        return {control: _status_at(control)}
    except (OSError, ValueError) as e:
        text = f"cannot connect to a sandbox at {control}: {getattr(e, 'strerror', None) or e}"
        raise CommandError(ExitCode.USAGE, text, "start a sandbox with: kctl sandbox start --control PATH") from None


def _status_at(path: Path) -> Any:
    state = ask_status(path, PATIENCE_S)
    try:
        texts = [state["bootstrap"], *(node["address"] for node in state["nodes"])]
        texts += [fault for node in state["nodes"] for fault in node["faults"]]
        numbers = [node[name] for node in state["nodes"] for name in ("node_id", "leaders")]
    except (TypeError, LookupError):
        texts, numbers = [None], []
    if all(isinstance(each, str) for each in texts) and all(isinstance(each, int) for each in numbers):
        return state
    raise ValueError("the response does not contain the state of a sandbox")


def status_listing(found: Mapping[Path, Any]) -> Listing:
    rows: list[Row] = [
        {**{name: node[name] for name in ("node_id", "address", "leaders", "faults")}, "control": str(path)}
        for path, state in found.items()
        for node in state["nodes"]
    ]
    shown = COLUMNS if len(found) > 1 else COLUMNS[:-1]
    return Listing("brokers", COLUMNS, rows, shown=shown)


def no_sandbox() -> CommandError:
    return CommandError(
        ExitCode.USAGE, "no running sandbox found for this user", "start a sandbox with: kctl sandbox start"
    )


def _is_private(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and is_owned(found)
