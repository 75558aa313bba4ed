"""Triggers of tests: once(), times(), every()."""

from kctl.sandbox.triggers import Every, Times, Trigger


def once() -> Trigger:
    """Fail the next request."""
    return Times(1)


def times(count: int) -> Trigger:
    """Fail the next `count` requests. Raises: ValueError: `count` is not 1 to 10,000."""
    return Times(count)


def every(step: int) -> Trigger:
    """Fail every `step`th request, until `heal`: the first `step - 1` succeed, the next one fails.

    Raises: ValueError: `step` is less than 1.
    """
    return Every(step)
