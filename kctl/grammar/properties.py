"""Reader and writer of Java's .properties files: comments, separators, continuation lines, and escapes."""

from collections.abc import Iterator, Mapping

from kctl.client.errors import ConfigError

LARGEST_FILE_BYTES = 1 << 20

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNESCAPES = {written: "\\" + letter for letter, written in _ESCAPES.items()}


def read_properties(source: str | bytes, name: str = "properties") -> dict[str, str]:
    """Return the properties of a file, in file order. If a key is repeated, the last value counts.

    Unlike java.util.Properties.load, reads UTF-8 and rejects an empty key.

    Args:
        source: the content. Bytes are UTF-8, or ISO 8859-1 if they are not valid UTF-8.
        name: description of the content in errors.
    Raises:
        ConfigError: a malformed \\u escape or a value without a key, with its line, or the content is too large.
    """
    if len(source) > LARGEST_FILE_BYTES:
        raise ConfigError(
            f"{name}: the file has {len(source)} bytes, more than the limit of {LARGEST_FILE_BYTES} bytes"
        )
    text = _decode(source) if isinstance(source, bytes) else source
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key_end = _end_of_key(line)
        try:
            key = _unescape(line[:key_end])
            value = _unescape(line[_start_of_value(line, key_end) :])
        except ValueError as e:
            raise ConfigError(f"{name} line {number}: {e}") from None
        if not key:
            raise ConfigError(f"{name} line {number}: the line has a value but no key")
        properties[key] = value
    return properties


def write_properties(properties: Mapping[str, str]) -> str:
    return "".join(f"{_escape(key, in_key=True)}={_escape(value, in_key=False)}\n" for key, value in properties.items())


def _decode(source: bytes) -> str:
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError:
        return source.decode("iso-8859-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    pending: list[str] = []
    first = 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        line = line.lstrip(_BLANK)
        if not pending:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2 == 1:
            if len(line) > 1 or pending:  # a lone backslash starts no line: a comment may follow
                pending.append(line[:-1])
            continue
        yield first, "".join([*pending, line])
        pending = []
    if pending:
        yield first, "".join(pending)


def _end_of_key(line: str) -> int:
    index = 0
    while index < len(line) and line[index] not in "=:" + _BLANK:
        index += 2 if line[index] == "\\" else 1
    return min(index, len(line))


def _start_of_value(line: str, index: int) -> int:
    index = _skip_blank(line, index)
    if index < len(line) and line[index] in "=:":
        index = _skip_blank(line, index + 1)
    return index


def _skip_blank(line: str, index: int) -> int:
    while index < len(line) and line[index] in _BLANK:
        index += 1
    return index


def _unescape(written: str) -> str:
    if "\\" not in written:
        return written
    parts: list[str] = []
    index = 0
    while (found := written.find("\\", index)) >= 0:
        parts.append(written[index:found])
        letter = written[found + 1 : found + 2]
        index = found + 2
        if letter == "u":
            digits = written[index : index + 4]
            parts.append(chr(_four_hex(digits)))
            index += 4
        else:
            parts.append(_ESCAPES.get(letter, letter))
    parts.append(written[index:])
    return _join_surrogates("".join(parts))


def _four_hex(digits: str) -> int:
    if len(digits) != 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise ValueError("\\u must be followed by four hexadecimal digits")
    return int(digits, 16)


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, such as Java's \\ud83d\\ude00. Raise ValueError for a lone surrogate."""
    try:
        return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError:
        raise ValueError("a \\u escape is only half of a surrogate pair") from None


def _escape(text: str, *, in_key: bool) -> str:
    written: list[str] = []
    for index, letter in enumerate(text):
        if letter in _UNESCAPES:
            written.append(_UNESCAPES[letter])
        elif letter in "\\" or (in_key and letter in "=: ") or (index == 0 and letter in " #!"):
            written.append("\\" + letter)
        elif " " <= letter <= "~":
            written.append(letter)
        else:
            units = letter.encode("utf-16-be", "surrogatepass")
            written.extend(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
    return "".join(written)
