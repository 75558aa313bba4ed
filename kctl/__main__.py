"""The `kctl` command: handles `--version` and completion itself, and passes other arguments to `kctl.cli.app`.

Imports nothing before Ctrl-C is handled, and nothing heavy before the command is known.
"""

# The part of `signal` that is compiled in: the rest makes enums, in which Ctrl-C would show a traceback.
import _signal  # type: ignore[import-not-found]  # typeshed describes `signal` alone
import os
import sys

COLLECTED_AFTER = 50_000
"""Net allocations before a garbage collection: imports create tens of thousands of objects that stay."""


def main() -> int:
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # our caller may have it ignored
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from kctl.version import VERSION

    is_version = sys.argv[1:2] in (["--version"], ["-V"])
    details = ""
    if is_version and sys.argv[2:] in (["--verbose"], ["-v"]):
        from kctl.cli.uncompiled import state

        details = f"Python {sys.version.split()[0]}\n{state()}\n"
        del sys.argv[2:]
    if is_version and len(sys.argv) == 2:
        try:
            os.write(1, f"kctl {VERSION}\n{details}".encode())
        except OSError:  # closed or full, which the command line knows to tell
            pass
        else:
            return 0
    if sys.argv[1:2] == ["__complete"]:
        from kctl.cli.completion.lookup import main as complete

        complete(sys.argv[2:])
    if sys.argv[1:] == ["__jq"]:
        from kctl.cli.decode.jq_process import run

        run()
        return 0
    import gc

    gc.set_threshold(COLLECTED_AFTER)
    from kctl.cli.app import main as run_app

    try:
        return run_app()
    finally:
        gc.freeze()  # or the interpreter looks for cycles among all that the end of the process frees anyway


if __name__ == "__main__":
    sys.exit(main())
