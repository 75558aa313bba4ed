"""Numbers of examples that depend on the profile: all in `make nightly`, half in `make test`."""

from hypothesis import settings


def examples(most: int) -> int:
    """Return the number of examples in this profile of a property that has `most` in `make nightly`."""
    return max(1, most * settings().max_examples // settings.get_profile("nightly").max_examples)
