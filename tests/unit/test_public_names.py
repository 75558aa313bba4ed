"""The names that the library promises, and that each costs only itself."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import kctl.client
from kctl.client import broker_errors, errors
from tools.api_pages import API_PAGES, PUBLIC_MODULES, api_page, public_names

ROOT = Path(__file__).parents[2]
PROMISED = Path(__file__).with_name("public_names.txt")
"""All public names, one on each line: programs break if one is removed."""


def test_public_names_are_those_that_are_promised() -> None:
    found = [f"{module}.{name}" for module in PUBLIC_MODULES for name in public_names(module)]
    assert found == PROMISED.read_text().splitlines(), "programs use these names: add new ones, keep the others"


def test_each_promised_name_can_be_imported() -> None:
    for line in PROMISED.read_text().splitlines():
        module, _, name = line.rpartition(".")
        assert getattr(import_module(module), name) is not None, line


def test_public_modules_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "library.md").read_text()
    listed = re.findall(r"^- `(kctl\.[\w.]+)`: ", page, re.MULTILINE)
    assert sorted(listed) == sorted({*PUBLIC_MODULES, "kctl.client.errors"} - {"kctl.client"})


def test_page_of_a_module_has_its_classes_with_their_calls() -> None:
    page = api_page("kctl.client.consumer")
    assert "## Consumer\n" in page
    assert "### Consumer.poll\n```python\npoll(self, timeout: " in page
    assert "### RebalanceListener.on_partitions_lost\n" in page
    assert "list[Record]" in page, "without modules"
    assert set(API_PAGES) == {f"api-{each.removeprefix('kctl.').replace('.', '-')}.md" for each in PUBLIC_MODULES}


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
