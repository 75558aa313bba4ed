"""The names that the library promises, and that each costs only itself."""

import subprocess
import sys

import kctl.client
from kctl.client import broker_errors, errors


def test_every_promised_name_is_there() -> None:
    for name in kctl.client.__all__:
        assert getattr(kctl.client, name) is not None


def test_help_and_dir_list_the_public_names_before_their_first_use() -> None:
    code = "import kctl.client, pydoc; print(dir(kctl.client)); print(pydoc.render_doc(kctl.client))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    listing, text = found.split("\n", 1)
    for name in ("RebalanceListener", "NewTopic", "SendFuture", "RecordMetadata", "OffsetAndMetadata", "CloseResult"):
        assert f"'{name}'" in listing
        assert name in text
    assert "TYPE_CHECKING" not in listing


def test_each_name_has_one_home_and_is_promised() -> None:
    assert sorted({*kctl.client._HOMES, "errors"}) == sorted(kctl.client.__all__)


def test_errors_have_the_class_of_each_error_code() -> None:
    assert errors.TopicAlreadyExistsError is broker_errors.TopicAlreadyExistsError
    for kind in broker_errors.BY_CODE.values():
        assert getattr(errors, kind.__name__) is kind
        assert kind.__name__ in dir(errors)
    assert not hasattr(errors, "NoSuchError")
    assert not hasattr(errors, "broker_error")


def test_errors_import_no_codes_before_one_is_named() -> None:
    code = "import sys, kctl.client.errors; print('kctl.client.broker_errors' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_wrong_name_is_an_attribute_error() -> None:
    assert not hasattr(kctl.client, "Consumerr")


def test_the_package_itself_imports_nothing() -> None:
    code = "import sys, kctl.client; print([m for m in sys.modules if m.startswith('kctl.client.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
