"""Handlers of supported APIs: each module's `HANDLER`."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from kctl.sandbox.apis import api_versions, fetch, produce, sasl_authenticate
from kctl.sandbox.call import Handler

_MODULES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
HANDLERS: dict[int, Handler[Any]] = {
    handler.request.API_KEY: handler
    for handler in sorted(
        (module.HANDLER for module in _MODULES if hasattr(module, "HANDLER")), key=lambda each: each.request.API_KEY
    )
}
"""Handlers by API key. ApiVersions lists exactly these."""
FAIL_THEMSELVES = (fetch.HANDLER.request.API_KEY, produce.HANDLER.request.API_KEY)
"""APIs whose handlers apply `Call.fails_with`, because Fetch updates its session and Produce may write records."""
api_versions.offer(HANDLERS.values())

__all__ = ["FAIL_THEMSELVES", "HANDLERS", "api_versions", "sasl_authenticate"]
