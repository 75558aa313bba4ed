"""Edits of profile files, which keep unchanged parts byte for byte.

Statements are the shortest groups of lines that tomllib parses; tomli-w writes new statements. If the result does not
parse to the intended content, the edit fails (docs/decisions/0011).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tomli_w

from kctl.cli.profiles.files import Content, Properties, read_content
from kctl.client.errors import ConfigError

MOST_LINES = 1000
"""Maximum lines of one value, as the search for its end takes quadratic time."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_TABLE = "profiles"


class Statement(NamedTuple):
    """Lines of a file: a header, a pair or, without a path, a comment or blank line.

    Attributes: path: keys of the table or value, from the top level.
    """

    text: str
    path: tuple[str, ...] = ()
    is_header: bool = False

    @property
    def is_pair(self) -> bool:
        return bool(self.path) and not self.is_header

    @property
    def is_comment(self) -> bool:
        return not self.path and bool(self.text.strip())


def put_profile(text: str, name: str, properties: Properties, where: str) -> str:
    """Return the text with a profile that has exactly these properties. Order and comments are kept.

    Raises: ConfigError: kctl cannot change a file with this layout.
    """
    before = read_content(text.encode(), where)
    statements = list(_statements(text))
    present = before.profiles.get(name)
    if present is None:
        statements = _with_end_of_line(statements)
        gap = [Statement("\n")] if statements else []
        statements += [*gap, Statement(_header(name), (_TABLE, name), True)]
        present = {}
    statements = _updated(statements, name, present, properties)
    return _checked(statements, where, before._replace(profiles={**before.profiles, name: dict(properties)}))


def remove_profile(text: str, name: str, where: str) -> str:
    """Return the text without a profile, and without `current` if it refers to it. Raises: see `put_profile`."""
    before = read_content(text.encode(), where)
    statements = list(_statements(text))
    kept = [statement for at, statement in enumerate(statements) if not _belongs(statements, at, name)]
    left = {each: properties for each, properties in before.profiles.items() if each != name}
    if before.current == name:
        kept = [statement for statement in kept if statement.path != ("current",)]
    current = None if before.current == name else before.current
    return _checked(kept, where, Content(current, left))


def put_current(text: str, name: str | None, where: str) -> str:
    """Return the text with `current` set, or removed if `name` is None. Raises: see `put_profile`."""
    before = read_content(text.encode(), where)
    statements = list(_statements(text))
    at = next((at for at, each in enumerate(statements) if each.path == ("current",)), None)
    if at is None:
        if name is not None:
            statements.insert(*_new_current(statements, name))
    elif name is None:
        del statements[at]
    else:
        statements[at] = _rewritten(statements[at], (), name)
    return _checked(statements, where, before._replace(current=name))


# --- the text as statements -------------------------------------------------------------------------------------------


def _statements(text: str) -> Iterator[Statement]:
    lines = _LINES.findall(text)
    table: tuple[str, ...] = ()
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at].lstrip(" \t").startswith("#"):
            yield Statement(lines[at])
            at += 1
            continue
        for end in range(at + 1, min(len(lines), at + MOST_LINES) + 1):
            parsed = _parse("".join(lines[at:end]))
            if parsed is not None:
                break
        else:
            raise ConfigError(f"line {at + 1}: the value has more than {MOST_LINES} lines")
        is_header = lines[at].lstrip(" \t").startswith("[")
        path = _path(parsed)
        table = path if is_header else table
        yield Statement("".join(lines[at:end]), path if is_header else table + path, is_header)
        at = end


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _path(parsed: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that lead to the value of a statement. An inline table with several keys is a value."""
    path: list[str] = []
    value: Any = parsed
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        path.append(key)
    return tuple(path)


def _checked(statements: Sequence[Statement], where: str, meant: Content) -> str:
    text = "".join(statement.text for statement in statements)
    try:
        found = read_content(text.encode(), where)
    except ConfigError:
        found = None
    if found != meant:
        raise ConfigError(f"cannot change {where}: kctl does not support the layout. Use kctl profile edit")
    return text


# --- profiles ---------------------------------------------------------------------------------------------------------


def _updated(statements: Sequence[Statement], name: str, present: Properties, wanted: Properties) -> list[Statement]:
    done: list[Statement] = []
    last = 0
    table: tuple[str, ...] = ()
    for statement in statements:
        if statement.is_header:
            table = statement.path
        key = ".".join(statement.path[2:])
        if statement.is_pair and statement.path[:2] == (_TABLE, name) and key in present:
            if key not in wanted:
                continue
            if wanted[key] != present[key]:
                statement = _rewritten(statement, table, wanted[key])
        done.append(statement)
        if table == (_TABLE, name) and statement.path[:2] == (_TABLE, name):
            last = len(done)
    new = {key: value for key, value in wanted.items() if key not in present}
    if not new:
        return done
    if not last:
        done = [*_with_end_of_line(done), Statement("\n"), Statement(_header(name), (_TABLE, name), True)]
        last = len(done)
    added = [Statement(_pair(key, value), (_TABLE, name, key)) for key, value in new.items()]
    return [*_with_end_of_line(done[:last]), *added, *done[last:]]


def _belongs(statements: Sequence[Statement], at: int, name: str) -> bool:
    """Return whether a statement is a header, pair or comment of a profile.

    A comment directly above a header belongs to that header. A comment after a blank line at the end of a table belongs
    to no profile.
    """
    if statements[at].path:
        return _is_of(statements[at], name)
    below = next((each for each in statements[at:] if each.path or not each.text.strip()), None)
    if statements[at].is_comment and below is not None and below.path:
        starts_file = all(not each.path for each in statements[:at])
        return _is_of(below, name) and not (starts_file and below.is_header)
    above = _owner_above(statements, at)
    if above is None or not _is_of(above, name):
        return False
    following = next((each for each in statements[at:] if each.path), None)
    if following is not None and not following.is_header:
        return _is_of(following, name)
    return not any(not each.text.strip() for each in _run_above(statements, at)) or not statements[at].is_comment


def _is_of(statement: Statement, name: str) -> bool:
    return statement.path[:2] == (_TABLE, name)


def _owner_above(statements: Sequence[Statement], at: int) -> Statement | None:
    return next((each for each in reversed(statements[:at]) if each.path), None)


def _run_above(statements: Sequence[Statement], at: int) -> list[Statement]:
    run: list[Statement] = []
    for each in reversed(statements[:at]):
        if each.path:
            break
        run.append(each)
    return run


# --- new words --------------------------------------------------------------------------------------------------------


def _header(name: str) -> str:
    return tomli_w.dumps({_TABLE: {name: {}}})


def _pair(key: str, value: str) -> str:
    multiline = "\n" in value.rstrip("\n") and "\r" not in value
    return tomli_w.dumps({key: value}, multiline_strings=multiline)


def _new_current(statements: Sequence[Statement], name: str) -> tuple[int, Statement]:
    at = next((at for at, each in enumerate(statements) if each.is_header), len(statements))
    while at > 0 and statements[at - 1].is_comment:
        at -= 1
    return at, Statement(tomli_w.dumps({"current": name}) + ("\n" if at < len(statements) else ""), ("current",))


def _rewritten(statement: Statement, table: tuple[str, ...], value: str) -> Statement:
    """Return a pair with another value. Key and comment are unchanged.

    Keys inside inline tables are not changed; the check of the result then rejects the edit.
    """
    text = statement.text
    own = statement.path[len(table) :]
    equals = (at for at, letter in enumerate(text) if letter == "=")
    key = next((text[:at] for at in equals if _is_path(_parse(text[:at] + "= 0"), own)), None)
    if key is None:
        return statement
    written = _pair("x", value).removeprefix("x = ").removesuffix("\n")
    return statement._replace(text=f"{key}= {written}{_comment(text)}")


def _is_path(parsed: Mapping[str, Any] | None, path: tuple[str, ...]) -> bool:
    return parsed is not None and _path(parsed) == path


def _comment(text: str) -> str:
    """Return the text after the value of a pair: blanks, comment and line end."""
    end = text[len(text.rstrip("\r\n")) :]
    meant = _parse(text)
    last = text.rstrip("\r\n").rsplit("\n", 1)[-1]
    start = len(text.rstrip("\r\n")) - len(last)
    for at, letter in enumerate(last):
        before = text[: start + at]
        if letter == "#" and _parse(before) == meant:
            return before[len(before.rstrip(" \t")) :] + last[at:] + end
    return end


def _with_end_of_line(statements: Sequence[Statement]) -> list[Statement]:
    done = list(statements)
    if done and not done[-1].text.endswith("\n"):
        done[-1] = done[-1]._replace(text=done[-1].text + "\n")
    return done
