"""The hot path: what runs once per record, in plain typed Python that mypyc compiles when a compiler is there.

Owns the choice between the extension and the source. `KCTL_PURE=1` takes the sources although the extension is built
(and, at build time, does not build it: setup.py). The modules know nothing of fetches, compression or transactions.
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
"""Each imports only those before it; setup.py compiles the same list."""


def _import_sources() -> None:
    """Put the .py of every module into sys.modules, where the import system would prefer the extension."""
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
    """True when the extension runs, False when the Python sources do."""
    path = import_module(f"{__name__}.cursor").__file__ or ""
    return not path.endswith(".py")
