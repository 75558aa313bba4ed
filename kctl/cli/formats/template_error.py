"""Errors of templates."""

from collections.abc import Iterable

_SHOWN_AROUND = 30


class LayoutError(ValueError):
    """Error inside the brackets of a template. The parser of the template converts it into a TemplateError."""

    def __init__(self, problem: str, position: int, length: int = 1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.position = position
        self.length = length


class TemplateError(ValueError):
    """Error in a template. The text shows the position with a caret."""

    def __init__(self, problem: str, template: str, position: int, length: int) -> None:
        shown, start, width = _window(template, position, length)
        super().__init__(f"{problem}\n  {shown}\n  {' ' * start}{'^' * width}")
        self.position = position


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean X?` if a known word is similar, otherwise the list of known words."""
    from kctl.client.config import nearest_name  # deferred import: only for errors

    known = list(known)
    close = nearest_name(word, known)
    return f": did you mean {close}?" if close is not None else f": use {' '.join(known)}"


def _window(template: str, position: int, length: int) -> tuple[str, int, int]:
    first = max(0, position - _SHOWN_AROUND)
    last = position + length + _SHOWN_AROUND
    shown = "".join(c if c.isprintable() else " " for c in template[first:last])
    prefix = "..." if first else ""
    suffix = "..." if last < len(template) else ""
    return prefix + shown + suffix, len(prefix) + position - first, length
