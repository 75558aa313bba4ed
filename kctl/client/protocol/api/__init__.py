"""Declared APIs: a registry that imports the module of an API when its key is requested.

The sandbox and `--trace` use the registry; the client imports the modules that it needs.
"""

from importlib import import_module
from typing import cast

from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api.names import APIS
from kctl.client.protocol.schema import Request, Response

__all__ = ["API_NAMES", "api_key_of", "api_name", "declared_keys", "request_class", "response_class"]

API_NAMES = {key: name for key, (name, _) in APIS.items()}

_requests: dict[int, type[Request]] = {}


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API, or `ApiKey(n)` for APIs that Kafka 4.3 does not have."""
    return API_NAMES.get(api_key, f"ApiKey({api_key})")


def api_key_of(typed: str) -> int | None:
    """Return the key of a declared API from its name, in any case, or from its number; None if there is none."""
    folded = typed.replace("_", "").replace("-", "").lower()
    return next((key for key in declared_keys() if folded in (API_NAMES[key].lower(), str(key))), None)


def declared_keys() -> list[int]:
    return sorted(key for key, (_, module) in APIS.items() if module is not None)


def request_class(api_key: int) -> type[Request]:
    """Return the request class of an API. Raises: UnsupportedVersionError: the API is not declared."""
    found = _requests.get(api_key)
    if found is None:
        name, module = APIS.get(api_key, (api_name(api_key), None))
        if module is None:
            raise UnsupportedVersionError(f"kctl does not support {name} (API key {api_key})", api=name)
        loaded = import_module(f"kctl.client.protocol.api.{module}")
        found = _requests[api_key] = cast(type[Request], getattr(loaded, f"{name}Request"))
    return found


def response_class(api_key: int) -> type[Response]:
    """Return the response class of an API. Raises: UnsupportedVersionError: the API is not declared."""
    return request_class(api_key).RESPONSE
