"""The Python source of a module that is compiled here, to be held against what it was compiled to."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def source_of(module: ModuleType) -> ModuleType:
    """Return the module of the same name as its `.py` has it."""
    name = module.__name__.rpartition(".")[2]
    spec = spec_from_file_location(f"{name}_source", Path(module.__file__ or "").parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    source = module_from_spec(spec)
    spec.loader.exec_module(source)
    return source
