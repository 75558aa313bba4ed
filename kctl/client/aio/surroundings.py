"""Runtime of asyncio clients, created from the runtime of a synchronous client."""

from kctl.client.aio.driver import AsyncDriver
from kctl.client.aio.selector import AwaitedSelector
from kctl.client.network.selector import Selector
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Runtime


def async_runtime(runtime: Runtime | None = None, *, has_network_thread: bool = True) -> tuple[Runtime, AsyncDriver]:
    """Return the runtime and its driver.

    Args:
        runtime: clock, threads, and sockets. None uses the system's.
        has_network_thread: whether a thread does the network I/O. If False, coroutines wait for sockets.
    """
    runtime = runtime or system_runtime()
    clock = runtime.clock
    driver = AsyncDriver(runtime.driver, clock)
    made = runtime._replace(driver=driver)
    if not has_network_thread and runtime.make_selector is Selector:
        made = made._replace(make_selector=lambda options: AwaitedSelector(options, clock))
    return made, driver
