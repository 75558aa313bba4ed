"""Hot path: code that runs once for each record, in typed Python that mypyc compiles if a compiler is installed.

`KCTL_PURE=1` skips the extension, at build time (setup.py) and at run time.
"""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

MODULES = (
    "varint",
    "record",
    "murmur2",
    "crc32c",
    "filled",
    "plain_record",
    "bulk",
    "places",
    "packed",
    "cursor",
    "conditions",
    "exits",
    "columns",
    "rows",
    "send_future",
    "builder",
)
"""Modules in import order: each imports only earlier modules. setup.py compiles this list."""


def _import_sources() -> None:
    """Import every module from its .py file, because the import system would prefer the extension."""
    for name in MODULES:
        full_name = f"{__name__}.{name}"
        spec = spec_from_file_location(full_name, Path(__file__).with_name(f"{name}.py"))
        if spec is None or spec.loader is None:
            raise ImportError(f"no source for {full_name}", name=full_name)
        module = module_from_spec(spec)
        sys.modules[full_name] = module
        spec.loader.exec_module(module)
        globals()[name] = module


if os.environ.get("KCTL_PURE") == "1":
    _import_sources()


def is_compiled() -> bool:
    """Return whether the compiled extension is in use."""
    path = import_module(f"{__name__}.cursor").__file__ or ""
    return not path.endswith(".py")
