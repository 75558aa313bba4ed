"""Locations of a job's data, as users write them.

    /data/kafka                      a directory
    s3://bucket/prefix               an object store: s3, gs, abfs, abfss
    iceberg:CATALOG.DB.TABLE         a table of a catalog
    delta:s3://bucket/table          a Delta table, or delta:/data/table

Locations have no credentials: the driver and the tasks get them from the environment or a profile.
"""

import re
from pathlib import Path
from typing import overload
from urllib.parse import SplitResult, urlsplit

STORE_SCHEMES = ("s3", "gs", "abfs", "abfss")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.]+):(.*)", re.DOTALL)
_IDENTIFIER = re.compile(r"[^\s./:]+(\.[^\s./:]+){2,}")


class StoreUrl(str):
    """A prefix in an object store, such as `s3://bucket/kafka`, without a trailing slash."""

    __slots__ = ()


class IcebergTable(str):
    __slots__ = ()

    @property
    def catalog(self) -> str:
        return self.partition(".")[0]

    @property
    def identifier(self) -> str:
        return self.partition(".")[2]


class DeltaTable(str):
    __slots__ = ()


Location = Path | StoreUrl | IcebergTable | DeltaTable


def parse_location(text: str) -> Location:
    """Return the location that a string denotes.

    Raises:
        ValueError: the string is empty, its scheme is unsupported, or the URL has no bucket, has credentials or a
            query.
    """
    if text == "":
        raise ValueError("the path is empty")
    found = _SCHEME.fullmatch(text)
    if found is None:
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "iceberg":
        return _iceberg(rest, text)
    if scheme == "delta":
        return _delta(rest)
    if not scheme.isalnum() or (not rest.startswith("/") and scheme not in STORE_SCHEMES):
        return Path(text)
    return _store_url(scheme, text)


def _iceberg(identifier: str, text: str) -> IcebergTable:
    if _IDENTIFIER.fullmatch(identifier) is None:
        raise ValueError(f"{text[:200]!r} is not a table: use the form iceberg:CATALOG.DB.TABLE")
    return IcebergTable(identifier)


def _store_url(scheme: str, text: str) -> StoreUrl:
    if scheme not in STORE_SCHEMES:
        known = ", ".join(f"{each}://" for each in STORE_SCHEMES)
        raise ValueError(f"{scheme}:// is not supported: use a directory such as /data/orders, or {known}")
    parts = urlsplit(text)
    _check_authority(scheme, parts, text)
    segments = [each for each in parts.path.split("/") if each]
    if any(each in (".", "..") for each in segments):
        raise ValueError(f"{text[:200]!r} has '.' or '..' in its path: use a path without them")
    return StoreUrl("/".join([f"{scheme}://{parts.netloc}", *segments]))


def _check_authority(scheme: str, parts: SplitResult, text: str) -> None:
    is_azure = scheme.startswith("abfs")
    if parts.password is not None or (parts.username is not None and not is_azure):
        raise ValueError(f"the URL {scheme}://... has credentials: set them in the environment or a profile instead")
    if parts.query or parts.fragment:
        raise ValueError(
            f"the URL {scheme}://{parts.hostname or ''}... has ? or # after the path: use a URL without them"
        )
    if not parts.netloc:
        shown = f"{scheme}:..." if "@" in text else repr(text[:200])
        raise ValueError(f"{shown} has no bucket: use the form {scheme}://BUCKET/PREFIX")
    if is_azure and parts.username is None:
        raise ValueError(
            f"{text[:200]!r} has no container: use the form {scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"
        )


def _delta(rest: str) -> DeltaTable:
    inner = parse_location(rest)
    if isinstance(inner, StoreUrl):
        return DeltaTable(inner)
    if isinstance(inner, Path):
        return DeltaTable(inner.absolute())
    raise ValueError("invalid location after delta: use a path or a URL, such as delta:s3://BUCKET/PREFIX")


@overload
def absolute(place: Path | StoreUrl) -> Path | StoreUrl: ...
@overload
def absolute(place: Location) -> Location: ...
def absolute(place: Location) -> Location:
    """Return a directory as an absolute path, so that tasks find it. Return other locations unchanged."""
    return place.absolute() if isinstance(place, Path) else place
