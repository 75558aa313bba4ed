"""Triggers of tests: once(), times(), every()."""

from kctl.sandbox.triggers import Every, Times, Trigger


def once() -> Trigger:
    """Return a trigger that fails the next request."""
    return Times(1)


def times(count: int) -> Trigger:
    """Return a trigger that fails the next `count` requests.

    Raises: ValueError: `count` is not 1 to 10,000.
    """
    return Times(count)


def every(step: int) -> Trigger:
    """Return a trigger that fails every `step`th request, until `heal`. The first `step - 1` requests succeed.

    Raises: ValueError: `step` is less than 1.
    """
    return Every(step)
