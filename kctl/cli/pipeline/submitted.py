"""Entry for `spark-submit`: a script of two lines calls `main`, and jobs use the session that spark-submit starts."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run `kctl pipeline` with the arguments of the script, and exit with its exit code."""
    from kctl.cli.app import main as run

    sys.argv[:1] = ["kctl", "pipeline"]
    sys.exit(run())
