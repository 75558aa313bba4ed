"""Import of the optional libraries of formats, on first use."""

import importlib
from typing import Any

from kctl.serdes.errors import LibraryMissingError
from kctl.version import install_command


def import_library(module: str, extra: str) -> Any:
    """Return a module of an optional library.

    Args:
        extra: extra of the distribution that installs the library.
    Raises: LibraryMissingError: the library is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        name = module.partition(".")[0]
        hint = f"install it with: {install_command(extra)}"
        raise LibraryMissingError(f"the Python package {name} is not installed ({e})", hint=hint) from None
