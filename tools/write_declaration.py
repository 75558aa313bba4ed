"""Write the declaration file of one or more APIs from the pinned kafka-clients jar, and the registry.

`python -m tools.write_declaration Heartbeat JoinGroup` adds APIs by Kafka's names;
`python -m tools.write_declaration --all` writes every file that is there again.
"""

import argparse
import re
import sys

from tools.declarations import (
    API_FOLDER,
    FAMILIES,
    HEADER,
    Definition,
    api_names,
    api_of,
    module_of,
    module_text,
    read_definitions,
)
from tools.kafka_jars import KAFKA_CLIENTS, jar


def declared_names(definitions: dict[str, Definition]) -> list[str]:
    """The names whose messages are declared in the folder."""
    texts = "".join(path.read_text() for path in API_FOLDER.glob("*.py"))
    messages = re.findall(r"^class (\w+)\((?:Message|Request|Response)\b", texts, re.MULTILINE)
    return sorted({api_of(name) for name in messages if name in definitions})


def names_text(names: dict[int, str], declared: list[str]) -> str:
    """The file `names.py`: every API by key, and the module of each declared one."""
    modules = {key: f'"{module_of(name)}"' if name in declared else None for key, name in names.items()}
    rows = "".join(f'    {key}: ("{name}", {modules[key]}),\n' for key, name in names.items())
    title = '"""Every API of the jar by key: its name, and the module that declares it, or None."""'
    return f"{HEADER}{title}\n\nAPIS: dict[int, tuple[str, str | None]] = {{\n{rows}}}\n"


def expected_files(names: list[str] | None = None) -> dict[str, str]:
    """File name -> text, for the declared APIs and those in `names`."""
    definitions = read_definitions(jar(KAFKA_CLIENTS))
    known = {api_of(name) for name in definitions}
    wanted = {api_of(name) for name in names or []}
    if wanted - known:
        raise SystemExit(f"no such API or message in {KAFKA_CLIENTS}: {', '.join(sorted(wanted - known))}")
    every = sorted({*declared_names(definitions), *wanted})
    modules: dict[str, list[str]] = {}
    for name in sorted(every, key=_order):
        modules.setdefault(module_of(name), []).append(name)
    files = {f"{module}.py": module_text(apis, definitions) for module, apis in modules.items()}
    files["names.py"] = names_text(api_names(definitions), every)
    return files


def _order(api: str) -> int:
    return FAMILIES[module_of(api)].index(api) if module_of(api) in FAMILIES else 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("api", nargs="*", help="Kafka's name, such as Metadata or ConsumerProtocolAssignment")
    parser.add_argument("--all", action="store_true", help="write every declared API again")
    options = parser.parse_args(arguments)
    if not options.api and not options.all:
        parser.error("name an API, or --all")
    for name, text in expected_files(options.api).items():
        path = API_FOLDER / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
