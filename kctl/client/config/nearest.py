"""Nearest names: what an unknown name was probably meant to be. Shown by tests/unit/config/test_parse.py."""

from collections.abc import Iterable

LONGEST_COMPARED = 100
"""Characters of an unknown name that are compared with the known ones: the comparison is quadratic."""


def nearest_name(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the one of some known names that is most like a name, or None if none is near.

    Args: likeness: from 0 to 1, how much of them must be the same.
    """
    from difflib import get_close_matches  # 2 ms of import, wanted only for mistakes

    found = get_close_matches(name[:LONGEST_COMPARED], list(known), n=1, cutoff=likeness)
    return found[0] if found else None
