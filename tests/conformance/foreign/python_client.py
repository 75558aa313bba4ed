"""How a foreign client that is a Python package is run: as a module of ours, in a process of its own."""

import importlib.util
import sys
from functools import partial

from tests.conformance.foreign.client import ExchangeClient
from tests.support.kafka.toolchain import ToolMissing


def python_client(package: str, module: str, program: str, sends_null_headers: bool = True) -> ExchangeClient:
    """Return a client.

    Args:
        package: the distribution's name.
        module: its import name.
        program: the module of ours that uses it.
        sends_null_headers: see `ForeignClient`.
    """
    return ExchangeClient(package, partial(_command, package, module, program), sends_null_headers)


def _command(package: str, module: str, program: str) -> list[str]:
    if importlib.util.find_spec(module) is None:
        raise ToolMissing(f"{package} is not installed (pip install {package}; it is in the dev extra)")
    return [sys.executable, "-m", program]
