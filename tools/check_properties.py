"""Compare the declared properties with those of the released Java clients: names, defaults, bounds.

    python tools/check_properties.py

Every property of Java's consumer, producer and admin must be declared here, or be on the lists of what is ignored or
refused. A default or a bound that differs on purpose stands in ON_PURPOSE with the reason. Needs Java 17 and Maven;
exits 1 and prints every difference.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kctl.client.config import KINDS, Property  # noqa: E402 - found by the path above
from kctl.client.config.foreign import REFUSED, why_ignored  # noqa: E402 - found by the path above
from kctl.client.config.property import Whole  # noqa: E402 - found by the path above
from tools.check_broker_errors import fetch_jars  # noqa: E402 - found by the path above

DUMP = """
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

public class DumpProperties {
    public static void main(String[] arguments) throws Exception {
        for (String kind : new String[] {"consumer.Consumer", "producer.Producer", "admin.AdminClient"}) {
            Class<?> config = Class.forName("org.apache.kafka.clients." + kind + "Config");
            ConfigDef declared = (ConfigDef) config.getMethod("configDef").invoke(null);
            for (var key : new TreeMap<>(declared.configKeys()).values()) {
                Object value = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE ? "" : key.defaultValue;
                boolean many = value instanceof java.util.List;
                Object text = many ? ConfigDef.convertToString(value, ConfigDef.Type.LIST) : value;
                System.out.println(String.join("\\t", kind.split("[.]")[0], key.name, "" + text, "" + key.validator));
            }
        }
    }
}
"""

ON_PURPOSE = {
    "compression.gzip.level": "-1 stands beside Java's bounds",
    "client.id": "brokers show a name",
    "group.id": "Java refuses the empty one later",
    "socket.connection.setup.timeout.ms": "a limit of 0 lets nothing connect",
    "socket.connection.setup.timeout.max.ms": "a limit of 0 lets nothing connect",
    "partitioner.class": "Java's null is called default",
    "session.timeout.ms": "0 would end every session at once",
    "heartbeat.interval.ms": "0 would never stop sending",
    "transaction.timeout.ms": "0 would abort every transaction at once",
    "connections.max.idle.ms": "below -1 means nothing more",
}


class Released(NamedTuple):
    """One property of a Java client."""

    kind: str
    name: str
    default: str
    validator: str


def released_properties(jars: list[Path]) -> list[Released]:
    """Return every property of the three Java clients."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "DumpProperties.java"
        source.write_text(DUMP)
        command = ["java", "-cp", ":".join(map(str, jars)), str(source)]
        dump = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return [Released(*line.split("\t")) for line in dump.stdout.splitlines()]


def differences(released: list[Released]) -> Iterator[str]:
    """Yield one line for each property that is missing here, or differs without being ON_PURPOSE."""
    declared = {kind.KIND: kind.PROPERTIES for kind in KINDS}
    for theirs in released:
        ours = declared[theirs.kind].get(theirs.name)
        if ours is None:
            if theirs.name not in REFUSED and why_ignored(theirs.name) is None:
                yield f"{theirs.kind} {theirs.name}: not declared"
        elif theirs.name not in ON_PURPOSE:
            yield from _compared(ours, theirs)


def _compared(ours: Property[object], theirs: Released) -> Iterator[str]:
    default = ours.kind.write(ours.default)
    java_default = _without_classes("" if theirs.default == "null" else theirs.default)
    if default != java_default:
        yield f"{theirs.kind} {theirs.name}: default {default!r} here, {java_default!r} released"
    low = theirs.validator.removeprefix("[").partition(",")[0]
    if isinstance(ours.kind, Whole) and theirs.validator.startswith("[") and int(low) != ours.kind.low:
        yield f"{theirs.kind} {theirs.name}: at least {ours.kind.low} here, {low} released"


def _without_classes(default: str) -> str:
    """Write Java's default assignors by their names on the wire."""
    names = {"RangeAssignor": "range", "CooperativeStickyAssignor": "cooperative-sticky"}
    parts = [part.rpartition(".")[2] if part.startswith("class org.apache.") else part for part in default.split(",")]
    return ",".join(names.get(part, part) for part in parts)


def main() -> int:
    released = released_properties(fetch_jars())
    found = list(differences(released))
    for line in found:
        print(line)
    print(f"{len(released)} properties compared, {len(found)} differ")
    return 1 if found or not released else 0


if __name__ == "__main__":
    sys.exit(main())
