"""Libraries of formats are optional."""

import pytest

from kctl.serdes.errors import LibraryMissingError
from kctl.serdes.libraries import import_library


def test_missing_library_names_what_installs_it() -> None:
    with pytest.raises(LibraryMissingError, match="package no_such_package is not installed") as raised:
        import_library("no_such_package.part", "avro")
    assert raised.value.hint == "install it with: pip install 'kctl-kafka[avro]'"


def test_library_that_is_there_is_imported() -> None:
    assert import_library("json.decoder", "avro").JSONDecoder is not None
