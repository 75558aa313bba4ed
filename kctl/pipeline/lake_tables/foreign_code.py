"""Refusal of code that a catalog or a table names. pyiceberg imports any such name, and calls it with their data."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

OWN_CODE = (
    "pyiceberg.io.pyarrow.PyArrowFileIO",
    "pyiceberg.io.fsspec.FsspecFileIO",
    "pyiceberg.table.locations.SimpleLocationProvider",
    "pyiceberg.table.locations.ObjectStoreLocationProvider",
    "legacyoauth2",
)
"""Code of pyiceberg that needs no configuration. `legacyoauth2` is the login of catalogs without `auth`."""


class ForeignCodeError(Exception):
    """A catalog or a table names code that the user's configuration of pyiceberg does not name."""


def refuse_foreign_code() -> None:
    """Let pyiceberg import only its own code, and code that the user's configuration names.

    The check is in the functions that import, because properties of catalogs and tables reach them in many ways.
    """
    from pyiceberg import io
    from pyiceberg.catalog.rest.auth import AuthManagerFactory
    from pyiceberg.io import pyarrow
    from pyiceberg.table import locations

    places: list[tuple[Any, str, str]] = [
        (io, "_import_file_io", "py-io-impl"),
        (pyarrow, "_import_retry_strategy", "s3.retry-strategy-impl"),
        (locations, "_import_location_provider", "write.py-location-provider.impl"),
        (AuthManagerFactory, "create", "auth"),
    ]
    for place, name, setting in places:
        load = getattr(place, name)
        if not hasattr(load, "__wrapped__"):
            setattr(place, name, staticmethod(_checked(load, setting)))


def refuse_working_directory() -> None:
    """Raise ForeignCodeError if pyiceberg would read its configuration from the working directory."""
    from pyiceberg.utils.config import PYICEBERG_HOME, PYICEBERG_YML

    folders = [Path.home(), *([Path(os.environ[PYICEBERG_HOME])] if os.environ.get(PYICEBERG_HOME) else [])]
    trusted = [folder / PYICEBERG_YML for folder in folders]
    given = Path.cwd() / PYICEBERG_YML
    if given.is_file() and not any(file.is_file() and file.stat().st_size for file in trusted):
        where = f"move it to your home directory, or set {PYICEBERG_HOME}"
        raise ForeignCodeError(
            f"cannot use {given}: kctl does not trust files in the working directory. To use it, {where}"
        )


def _checked(load: Callable[..., Any], setting: str) -> Callable[..., Any]:
    @wraps(load)
    def checked(code: object, *rest: object) -> Any:
        if code not in OWN_CODE and code not in _configured(setting):
            what = f"the catalog or the table sets {setting} to {code!r:.100}"
            raise ForeignCodeError(f"{what}, but your pyiceberg configuration does not")
        return load(code, *rest)

    return checked


def _configured(setting: str) -> Iterator[object]:
    from pyiceberg.utils.config import Config

    config = Config()
    for catalog in config.get_known_catalogs():
        found = (config.get_catalog_config(catalog) or {}).get(setting)
        if isinstance(found, Mapping):
            yield found.get("impl") or found.get("type")
        else:
            yield found
