"""Properties, defaults and bounds are those of the released Java clients; .properties files read the same."""

import subprocess
from pathlib import Path
from random import Random

import pytest

from kctl.client.errors import ConfigError
from kctl.grammar.properties import read_properties, write_properties
from tools.check_broker_errors import fetch_jars
from tools.check_properties import differences, released_properties

pytestmark = pytest.mark.usefixtures("java_and_maven")

READER = """
import java.io.*;
import java.util.*;

public class ReadProperties {
    static void write(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes("UTF-8");
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        for (int left = in.readInt(); left > 0; left--) {
            byte[] file = new byte[in.readInt()];
            in.readFully(file);
            Properties read = new Properties();
            try {
                read.load(new ByteArrayInputStream(file));
                out.writeInt(read.size());
                for (String name : read.stringPropertyNames()) {
                    write(out, name);
                    write(out, read.getProperty(name));
                }
            } catch (IllegalArgumentException malformed) {
                out.writeInt(-1);
            }
        }
        out.flush();
    }
}
"""
PIECES = [
    "a",
    "b",
    "u",
    "=",
    ":",
    " ",
    "\t",
    "\f",
    "\n",
    "\r",
    "\r\n",
    "\\",
    "\\\n",
    "#",
    "!",
    "\\u0041",
    "\\n",
    "\xe9",
]


def test_every_property_default_and_bound() -> None:
    released = released_properties(fetch_jars())
    assert len(released) > 200
    assert list(differences(released)) == []


def read_by_java(files: list[bytes], folder: Path) -> list[dict[str, str] | None]:
    """Return what Java reads from each file; None where it refuses."""
    source = folder / "ReadProperties.java"
    source.write_text(READER)
    stdin = len(files).to_bytes(4) + b"".join(len(file).to_bytes(4) + file for file in files)
    answer = subprocess.run(["java", str(source)], input=stdin, capture_output=True, check=True).stdout
    at = 0

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(answer[at - 4 : at], signed=True)

    def text() -> str:
        nonlocal at
        size = number()
        at += size
        return answer[at - size : at].decode()

    return [None if count < 0 else {text(): text() for _ in range(count)} for count in (number() for _ in files)]


def test_odd_files_read_as_java_reads_them(tmp_path: Path) -> None:
    rng = Random(20260101)
    files = ["".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 14))) for _ in range(5000)]
    for file, java in zip(files, read_by_java([file.encode("latin-1") for file in files], tmp_path), strict=True):
        try:
            ours = read_properties(file)
        except ConfigError as e:
            # A value without a key is a mistake here; Java files it under the empty name.
            assert java is None or ("has a value but no key" in str(e) and "" in java), file  # noqa: PT017 - most files raise nothing
            continue
        if java is not None:
            java.pop("", None)  # Java makes an empty property of a file that ends in a lone backslash
        assert ours == java, file


def test_properties_that_kctl_writes_are_read_by_java(tmp_path: Path) -> None:
    rng = Random(1)
    letters = [*"ab =:#!\\\t\n\r\f", "é", "名", "\U0001f600", "\0"]
    wanted = [
        {"".join(rng.choices(letters, k=rng.randrange(1, 6))): "".join(rng.choices(letters, k=9))} for _ in range(500)
    ]
    files = [write_properties(properties).encode() for properties in wanted]
    assert read_by_java(files, tmp_path) == wanted
    assert [read_properties(file) for file in files] == wanted
