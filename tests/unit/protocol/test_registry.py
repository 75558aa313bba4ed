"""From an api key to its classes, with nothing imported that is not asked for."""

import subprocess
import sys

import pytest

from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api import api_name, declared_keys, request_class, response_class
from kctl.client.protocol.api.fetch import FetchRequest, FetchResponse
from tests.support.bounds import bound

FOUNDATIONS = [0, 1, 2, 3, 8, 9, 10, 17, 18, 19, 20, 22, 36, 60]


def test_classes_of_a_key() -> None:
    assert request_class(1) is FetchRequest
    assert response_class(1) is FetchResponse
    assert api_name(1) == "Fetch"


def test_every_declared_key_has_both_classes() -> None:
    assert set(FOUNDATIONS) <= set(declared_keys())
    for key in declared_keys():
        request, response = request_class(key), response_class(key)
        assert request.API_KEY == response.API_KEY == key
        assert request.NAME == response.NAME == api_name(key)


def test_unknown_keys() -> None:
    with pytest.raises(UnsupportedVersionError, match="API key 9999"):
        request_class(9999)
    assert api_name(9999) == "ApiKey(9999)"


def test_framing_imports_no_api_and_compiles_nothing() -> None:
    code = (
        "import sys, kctl.client.protocol.framing, kctl.client.protocol.codec as codec\n"
        "loaded = [name for name in sys.modules if name.startswith('kctl.client.protocol.api.')]\n"
        "assert sorted(loaded) == ["
        "'kctl.client.protocol.api.headers', "
        "'kctl.client.protocol.api.names'], loaded\n"
        "assert not codec._decoders\n"
        "assert not codec._encoders\n"
        "assert not {'socket', 'selectors', 'asyncio', 'dataclasses', 'inspect'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=bound(60))
    assert done.returncode == 0, done.stderr
