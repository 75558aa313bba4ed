"""Trust in project files, by path and content.

Anyone may have written a project file, which decides where records and passwords are sent. kctl uses it only after the
user trusts it, and until it or a project file that it names changes (docs/decisions/0010).
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from kctl.cli.profiles.files import Content, ProfileFile, read_bytes, read_content
from kctl.cli.profiles.locations import require_user_file, user_file
from kctl.client.errors import ConfigError

STORE = "trusted.toml"
_HEAD = "# Project files that kctl may use: `kctl profile trust` writes this.\n"


def is_trusted(file: ProfileFile, environ: Mapping[str, str]) -> bool:
    """Return whether the content of a file is trusted. The user's own file is always trusted."""
    if not file.is_project:
        return True
    own = user_file(environ)
    return own is not None and _read(own.with_name(STORE)).get(_name(file.path)) == _digest(
        file.path, file.raw, file.content
    )


def require_trust(file: ProfileFile, environ: Mapping[str, str]) -> None:
    """Raise ConfigError if a project file is not trusted."""
    if not is_trusted(file, environ):
        raise ConfigError(
            f"cannot use {file.path}: the content of the file or of a file that it uses is not trusted. Read the "
            "files, then run kctl profile trust. To use no profile, add -C ''"
        )


def trust(path: Path, raw: bytes, environ: Mapping[str, str]) -> None:
    """Trust this content of a project file, and the present content of the project files that it names.

    Raises: ConfigError: the content is invalid.
    """
    digest = _digest(path, raw, read_content(raw, str(path)))
    _change(environ, lambda allowed: {**allowed, _name(path): digest})


def distrust(path: Path, environ: Mapping[str, str]) -> None:
    _change(environ, lambda allowed: {name: each for name, each in allowed.items() if name != _name(path)})


def _change(environ: Mapping[str, str], change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    import tomli_w  # deferred import: only for changes

    from kctl.cli.profiles.writing import replace_file

    store = require_user_file(environ).with_name(STORE)
    replace_file(store, lambda _: (_HEAD + tomli_w.dumps({"files": change(_read(store))})).encode())


def _read(store: Path) -> dict[str, str]:
    found = read_bytes(store)
    if found is None:
        return {}
    import tomllib  # deferred import: only if there are trusted files

    try:
        files = tomllib.loads(found[0].decode()).get("files", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {store}: {e}. Delete the file, then run kctl profile trust") from None
    return {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else {}


def _name(path: Path) -> str:
    return str(path.resolve())


def _digest(path: Path, raw: bytes, content: Content) -> str:
    from hashlib import file_digest, sha256  # deferred import: takes 5ms

    from kctl.cli.profiles.allowances import watched_files

    whole = sha256(raw)
    root, files, unwatched = watched_files(path, content)
    for each in files:
        whole.update(b"\0" + os.fsencode(each.relative_to(root)) + b"\0")
        try:
            if each.is_symlink():
                whole.update(os.fsencode(os.readlink(each)) + b"\0")
            if each.is_file():
                with each.open("rb") as file:
                    whole.update(file_digest(file, "sha256").digest())
        except OSError as e:
            raise ConfigError(f"cannot read {each}, which {path} uses: {e.strerror}") from None
    whole.update(b"\0".join(map(os.fsencode, unwatched)))
    return whole.hexdigest()
