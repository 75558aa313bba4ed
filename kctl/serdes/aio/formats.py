"""Formats of keys and values whose conversion may wait."""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, Generic, Protocol, TypeVar

from kctl.serdes.errors import DecodeError
from kctl.serdes.formats import Mapped, Serde
from kctl.serdes.registry_formats import RegistrySerde
from kctl.serdes.wire import Header

T = TypeVar("T")


class AsyncSerde(Protocol[T]):
    """Format of keys or values of type T, whose methods are coroutines. Not called for null."""

    async def serialize(self, value: T, topic: str) -> bytes:
        """Return the bytes of a value for a topic.

        Raises: EncodeError: the value does not fit.
        """
        ...

    async def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> T:
        """Return the value of bytes.

        Raises: DecodeError: the bytes do not have this format.
        """
        ...


class AsyncMapped(Generic[T]):
    """Format whose values are converted by two functions, as in `Mapped`, over a format that may wait."""

    def __init__(self, serde: AsyncSerde[Any], load: Callable[[Any], T], dump: Callable[[T], Any]) -> None:
        self._serde = serde
        self._load = load
        self._dump = dump

    async def serialize(self, value: T, topic: str) -> bytes:
        return await self._serde.serialize(self._dump(value), topic)

    async def deserialize(self, data: bytes, topic: str, headers: Sequence[Header]) -> T:
        found = await self._serde.deserialize(data, topic, headers)
        try:
            return self._load(found)
        except Exception as error:
            raise DecodeError(f"the value cannot be converted: {str(error) or type(error).__name__}"[:300]) from error


def check_serde(serde: Serde[T] | AsyncSerde[T]) -> None:
    """Raise TypeError if a format would block the event loop."""
    below: object = serde
    while isinstance(below, Mapped):
        below = below._serde
    if isinstance(below, RegistrySerde):
        raise TypeError("formats of Registry block the event loop: use AsyncRegistry with AsyncMapped")


async def settled(found: T | Awaitable[T]) -> T:
    return await found if isawaitable(found) else found
