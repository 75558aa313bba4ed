"""Clients for asyncio: AsyncProducer, AsyncConsumer, AsyncAdmin. Needs the extra `aio` (greenlet).

A call runs the code of the synchronous client in a greenlet of the event loop's thread. Where that code would block,
the coroutine awaits (bridge.py, driver.py, selector.py). One network thread for each producer and consumer does the I/O
and wakes the event loop; an admin client needs no thread.
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
