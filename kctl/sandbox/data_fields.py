"""Checks of the types and bounds of JSON values, with their places for errors."""

from collections.abc import Iterator

_LONGEST_TEXT_BYTES = 2**15 - 1
"""Maximum size of a string in requests and responses."""
_SHOWN = 40


class Field:
    """JSON value, and its place in the document. All methods raise ValueError for other types or bounds."""

    def __init__(self, value: object, place: str) -> None:
        self.value = value
        self.place = place

    def refused(self, form: str) -> ValueError:
        shown = repr(self.value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return ValueError(f"invalid {self.place} {shown}: use {form}")

    def __getitem__(self, name: str) -> "Field":
        fields = self._table()
        if name not in fields:
            raise ValueError(f"{self._prefix()}{name} is missing")
        return Field(fields[name], f"{self._prefix()}{name}")

    def items(self) -> Iterator[tuple[str, "Field"]]:
        for name, value in self._table().items():
            yield Field(name, f"name in {self.place}").text(), Field(value, f"{self._prefix()}{name[:_SHOWN]!r}")

    def _table(self) -> dict[str, object]:
        if not isinstance(self.value, dict):
            raise self.refused("an object")
        return self.value

    def _prefix(self) -> str:
        return f"{self.place}." if self.place else ""

    def each(self, count: int | None = None) -> list["Field"]:
        """Return the items of a list, which has `count` items if it is given."""
        if not isinstance(self.value, list) or (count is not None and len(self.value) != count):
            raise self.refused("a list" if count is None else f"a list of {count} items")
        return [Field(item, f"{self.place}[{at}]") for at, item in enumerate(self.value)]

    def integer(self, low: int, high: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.refused(f"{low} to {high}")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str) or not _is_sendable(self.value):
            raise self.refused(f"a UTF-8 string of at most {_LONGEST_TEXT_BYTES} bytes")
        return self.value


def _is_sendable(text: str) -> bool:
    try:
        return len(text.encode()) <= _LONGEST_TEXT_BYTES
    except UnicodeEncodeError:
        return False
