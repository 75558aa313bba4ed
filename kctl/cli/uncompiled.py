"""Notes about a missing compiled record module."""

from typing import Final

from kctl.cli.options import Common

MANY_RECORDS: Final = 1_000_000
"""Number of records above which the note appears."""
UNCOMPILED: Final = "the compiled record module is not installed, so records need much more CPU time"


def state() -> str:
    from kctl.client.records import is_compiled

    return "record module: compiled" if is_compiled() else f"record module: Python ({UNCOMPILED})"


def note_uncompiled(common: Common, records: int = MANY_RECORDS + 1) -> None:
    """Print a note if the compiled module is missing and more than MANY_RECORDS records were processed."""
    if records <= MANY_RECORDS:
        return
    from kctl.client.records import is_compiled

    if not is_compiled():
        common.say(f"{common.environment.program}: note: {UNCOMPILED}")
        common.say("hint: install kctl from a wheel, or with a C compiler and without KCTL_PURE=1")
