"""The `kctl` command: answers `--version` and shells at once, and hands everything else to `kctl.cli.app`.

It must import nothing heavy before it knows what is asked. Shown by tests/cli/test_start_up.py.
"""

import sys

from kctl.version import VERSION


def main() -> int:
    """Run the command line of this process and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"kctl {VERSION}\n")
        return 0
    if sys.argv[1:2] == ["__complete"]:
        from kctl.cli.completion.lookup import main as complete

        complete(sys.argv[2:])
    try:
        from kctl.cli.app import main as run_app
    except KeyboardInterrupt:  # too early for the command line's own handling
        return 130
    return run_app()


if __name__ == "__main__":
    sys.exit(main())
