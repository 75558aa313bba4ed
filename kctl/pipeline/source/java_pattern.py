"""Translation of Java's regular expressions for topic names, as in `subscribePattern`, into Python's."""

import re
from typing import Final

_CLASSES: Final = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Lower": "a-z",
    "Upper": "A-Z",
    "XDigit": "0-9a-fA-F",
    "Punct": r"!-/:-@\[-`{-~",
    "L": "a-zA-Z",
    "IsAlphabetic": "a-zA-Z",
    "IsDigit": "0-9",
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": "0-9",
    "Nd": "0-9",
}
"""Java's named classes, restricted to ASCII because topic names are ASCII."""
_REFUSED_ESCAPES: Final = {"G", "X", "R", "N", "h", "H", "v", "V", "z", "Z", "c", "e", "a", "k"}
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|\\(?P<named>[pP])(?:\{(?P<name>\w+)\}|(?P<letter>\w))"
    r"|\(\?<(?P<group>[A-Za-z]\w*)>"
    r"|\\(?P<escape>.)"
    r"|(?P<other>.)",
    re.DOTALL,
)


def python_pattern(java: str) -> re.Pattern[str]:
    """Return the Python pattern that matches the same topic names as a Java pattern, or raise ValueError."""
    parts: list[str] = []
    depth = 0
    """Number of open `[`."""
    for token in _TOKEN.finditer(java):
        if (quoted := token["quoted"]) is not None:
            parts.append(re.escape(quoted))
        elif token["named"]:
            parts.append(_named_class(token["named"] == "P", token["name"] or token["letter"], inside=depth > 0))
        elif token["group"]:
            parts.append(f"(?P<{token['group']}>")
        elif (escape := token["escape"]) is not None:
            if escape in _REFUSED_ESCAPES:
                raise ValueError(f"kctl does not support \\{escape}")
            parts.append(f"\\{escape}")
        else:
            other = token["other"]
            is_literal = depth == 1 and other == "]" and _is_first_in_class(parts)
            if depth and other == "[":
                raise ValueError("kctl does not support a class inside a class, such as [a[b]]")
            if depth and other == "&" and parts and parts[-1] == "&":
                raise ValueError("kctl does not support the intersection of classes (&&)")
            depth += (other == "[") - (other == "]" and depth > 0 and not is_literal)
            parts.append(other)
    try:
        return re.compile("".join(parts), re.ASCII)
    except re.error as error:
        raise ValueError(str(error)) from None


def _named_class(negated: bool, name: str, *, inside: bool) -> str:
    members = _CLASSES.get(name)
    if members is None or (inside and negated):
        raise ValueError(f"kctl does not support \\{'P' if negated else 'p'}{{{name}}}")
    return members if inside else f"[{'^' if negated else ''}{members}]"


def _is_first_in_class(parts: list[str]) -> bool:
    return parts[-1] == "[" or parts[-2:] == ["[", "^"]
