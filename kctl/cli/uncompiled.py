"""Whether this install has the compiled record module, for `kctl --version -v`, `kctl bench` and runs of many
records.
"""

from typing import Final

from kctl.cli.options import Common

MANY_RECORDS: Final = 1_000_000
"""A run of more is worth the note."""
UNCOMPILED: Final = "this install has no compiled record module: records take many times the CPU time"


def state() -> str:
    """Return a line for `kctl --version -v`."""
    from kctl.client.records import is_compiled

    return "record module: compiled" if is_compiled() else f"record module: Python ({UNCOMPILED})"


def note_uncompiled(common: Common, records: int = MANY_RECORDS + 1) -> None:
    """Note after a run of many records that the compiled module is missing."""
    if records <= MANY_RECORDS:
        return
    from kctl.client.records import is_compiled

    if not is_compiled():
        common.say(f"{common.environment.program}: note: {UNCOMPILED}")
        common.say("hint: install a wheel, or install with a C compiler and without KCTL_PURE=1")
