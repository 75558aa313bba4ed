"""Builds the one compiled package, kctl/client/records/_hot, with mypyc and from C, and one module of the protocol.

All of it is optional: without a C compiler or mypy, or with KCTL_PURE=1, the same sources run as plain Python.
Everything else about the distribution is in pyproject.toml.
"""

import os
import sys
from pathlib import Path
from typing import Any

from setuptools import Extension, setup

HOT = "kctl/client/records/_hot"
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
IN_C = ("bulk", "crc32c", "packed", "places")
"""Those that are written in C too, where mypyc cannot say what is to be done."""


def hot_extensions() -> list[Any]:
    """setuptools' extension modules, none when they are not wanted or mypyc is not there."""
    if os.environ.get("KCTL_PURE") == "1":
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        sys.stderr.write("mypyc is not installed: the record codec runs as plain Python\n")
        return []
    try:
        extensions = mypycify(
            # The dependencies are not there when a package is built in an environment of its own.
            ["--ignore-missing-imports", *(str(Path(HOT, f"{name}.py")) for name in MODULES if name not in IN_C)],
            opt_level="3",
            debug_level="0",
            group_name=f"{HOT.replace('/', '.')}.native",
        )
    except SystemExit:
        sys.stderr.write("mypyc cannot compile the record codec (see above): it runs as plain Python\n")
        return []
    for name in IN_C:
        if name == "places" and sys.platform == "win32":
            continue  # it has no writev()
        extensions.append(
            Extension(f"{HOT.replace('/', '.')}.{name}", [f"{HOT}/{name}.c"], depends=[f"{HOT}/numbers.h"])
        )
    extensions.append(Extension("kctl.client.protocol.frame_room", ["kctl/client/protocol/frame_room.c"]))
    for extension in extensions:
        extension.optional = True
        if sys.platform != "win32":
            # Lets the C compiler inline one hot function into the other: none is replaced at load time. Information
            # for debuggers would have the folder of the build in it, so that no two builds were the same.
            extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden", "-g0"]
    return list(extensions)


setup(ext_modules=hot_extensions())
