"""An interpreter without site-packages for workers: what runs there of kctl and its dependencies was sent."""

import sys
from importlib.util import find_spec
from pathlib import Path


def bare_interpreter(folder: Path, *packages: str) -> str:
    """Return the path of a program in a folder that runs Python with the given packages alone."""
    (folder / "lib").mkdir()
    for name in packages:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).parent
        (folder / "lib" / name).symlink_to(source)
        for facts in source.parent.glob(f"{name}-*.dist-info"):
            (folder / "lib" / facts.name).symlink_to(facts)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}/lib" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return str(program)
