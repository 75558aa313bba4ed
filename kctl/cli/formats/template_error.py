"""What is wrong with a template, and where: a text with a caret under the place."""

from collections.abc import Iterable

_SHOWN_AROUND = 30


class LayoutError(ValueError):
    """Something inside a template's brackets is not understood; the caller, with the whole template, points at it."""

    def __init__(self, problem: str, position: int, length: int = 1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position
        self.length = length


class TemplateError(ValueError):
    """A template with something in it that is not understood; the text points at it."""

    def __init__(self, problem: str, template: str, position: int, length: int) -> None:
        shown, start, width = _window(template, position, length)
        super().__init__(f"{problem}\n  {shown}\n  {' ' * start}{'^' * width}")
        self.position = position


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` where a known word is near, else the list of all of them."""
    from kctl.client.config import nearest_name  # wanted only for mistakes

    known = list(known)
    close = nearest_name(word, known)
    return f"; did you mean {close}?" if close is not None else f"; there are {' '.join(known)}"


def _window(template: str, position: int, length: int) -> tuple[str, int, int]:
    """Return what of a template to show on one line, where the caret starts in it, and how wide it is."""
    first = max(0, position - _SHOWN_AROUND)
    last = position + length + _SHOWN_AROUND
    shown = "".join(c if c.isprintable() else " " for c in template[first:last])
    prefix = "..." if first else ""
    suffix = "..." if last < len(template) else ""
    return prefix + shown + suffix, len(prefix) + position - first, length
