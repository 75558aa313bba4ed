"""Clients for asyncio: AsyncProducer, AsyncConsumer, AsyncAdmin. Needs the extra `aio` (greenlet).

Calls run the code of the synchronous clients in a greenlet of the event loop's thread and await when the code would
block. Each producer and consumer has one network thread, which wakes the event loop; admin clients have none.
"""

from kctl.version import install_command

try:
    import greenlet as _greenlet
except ImportError as error:
    raise ImportError(f"kctl.client.aio needs greenlet: {install_command('aio')}") from error

from kctl.client.aio.admin import AsyncAdmin
from kctl.client.aio.consumer import AsyncConsumer, AsyncRebalanceListener
from kctl.client.aio.producer import AsyncProducer

del _greenlet

__all__ = ["AsyncAdmin", "AsyncConsumer", "AsyncProducer", "AsyncRebalanceListener"]
