"""The names that the library promises, and that each costs only itself."""

import subprocess
import sys

import kctl.client


def test_every_promised_name_is_there() -> None:
    for name in kctl.client.__all__:
        assert getattr(kctl.client, name) is not None


def test_a_wrong_name_is_an_attribute_error() -> None:
    assert not hasattr(kctl.client, "Consumerr")


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys, kctl.client; print([m for m in sys.modules if m.startswith('kctl.client.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
