"""Each form of the binary where no Python is: the directory and the one file in a file system without a shell, the
package on Debian, and the image with a read-only file system.
"""

import json
import os
import select
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from kctl.client import Producer
from kctl.client.security.tls import server_context
from kctl.sandbox import ListenerSecurity, Sandbox
from kctl.version import VERSION
from tests.binary.conftest import ROOT, Binary
from tests.cli.processes import BOUND_S, address_of
from tests.cli.test_sandbox_security import login
from tests.docs.pages import first_look
from tests.support.kafka.certificates import make_certificates
from tools.binary_start import prepare
from tools.channels import Archive

MOST_BYTES = 35_000_000
"""Of each compressed file."""


def test_version_says_that_records_are_compiled(binary: Binary) -> None:
    assert binary.run("--version") == (f"kctl {VERSION}\n", "")
    assert "record module: compiled" in binary.run("--version", "-v")[0]


def test_quick_start_of_the_readme_prints_what_the_page_shows(binary: Binary, tmp_path: Path) -> None:
    assert first_look(binary.command(), tmp_path) == []


def test_why_and_doctor_report(binary: Binary) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        for command in (("why", "topic", "t"), ("doctor",)):
            assert binary.run(*command, "-b", served.bootstrap)[0] != ""


def test_ctrl_c_ends_the_binary_with_its_exit_code(binary: Binary) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        command = binary.command("consume", "t", "-b", served.bootstrap)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            with Producer({"bootstrap.servers": served.bootstrap}) as producer:
                producer.send("t", value=b"one").result(timeout=BOUND_S)
                _wait_for_line(process, producer)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=BOUND_S)
        finally:
            process.kill()
            process.communicate(timeout=BOUND_S)
    assert process.returncode == 130


def _wait_for_line(process: "subprocess.Popen[bytes]", producer: Producer) -> None:
    assert process.stdout is not None
    while not select.select([process.stdout], [], [], 0.5)[0]:  # consume starts at the end of the topic
        producer.send("t", value=b"more").result(timeout=BOUND_S)
    assert process.stdout.readline() != b""


def _protoset() -> bytes:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

    files = FileDescriptorSet()
    file = files.file.add(name="a.proto", package="p", syntax="proto3")
    file.message_type.add(name="Word").field.add(
        name="text", number=1, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    return files.SerializeToString()


@pytest.mark.parametrize(
    ("value", "options", "printed"),
    [
        (b"\x0ahello", ("--decode", "value=avro", "--avsc", "/data/word.avsc"), '"hello"\n'),
        (
            b"\x0a\x05hello",
            ("--decode", "value=protobuf", "--protoset", "/data/word.pb", "--message", "p.Word"),
            '{"text":"hello"}\n',
        ),
        (b"\x81\xa1a\x01", ("--decode", "value=msgpack"), '{"a":1}\n'),
        (b'{"a":{"b":"gr\xc3\xbc\xc3\x9f"}}', ("--decode", "value=json", "--jq", ".value.a.b"), '"grüß"\n'),
    ],
)
def test_values_are_decoded(binary: Binary, value: bytes, options: tuple[str, ...], printed: str) -> None:
    binary.file("word.avsc", b'"string"')
    binary.file("word.pb", _protoset())
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            producer.send("t", value=value)
        read = ("consume", "t", "-o", "start", "-e", "--strict", "-b", served.bootstrap)
        assert binary.run(*read, *options) == (printed, "")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_records_are_compressed(folder: Binary, codec: str) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        folder.run("produce", "t", "-X", f"compression.type={codec}", "-b", served.bootstrap, stdin=b"one\n" * 100)
        assert folder.run("consume", "t", "-o", "start", "-e", "-b", served.bootstrap)[0] == "one\n" * 100


def test_login_and_certificates(binary: Binary, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    broker = binary.file("broker.pem", certificates.broker.read_bytes())
    trusted = binary.file("ca.pem", certificates.ca.read_bytes())
    password = binary.file("password", b"admin-secret\n")
    up = ("sandbox", "start", "--nodes", "1", "--port", "0", "-q", "--topic", "t", "--tls-certificate", broker)
    with binary.running(*up, "--sasl-user", f"admin={password}") as sandbox:
        _, own = login(
            tmp_path, "admin", address_of(sandbox), "ssl.truststore.type=PEM", f"ssl.truststore.location={trusted}"
        )
        config = ("--command-config", binary.file("admin.properties", Path(own).read_bytes()))
        binary.run("produce", "t", *config, stdin=b"one\n")
        assert binary.run("consume", "t", "-o", "start", "-e", *config)[0] == "one\n"


def test_pkcs12_trust_store_is_read(folder: Binary, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    store = tmp_path / "trusted.p12"
    export = ("openssl", "pkcs12", "-export", "-nokeys", "-passout", "pass:secret", "-out", str(store))
    subprocess.run([*export, "-in", str(certificates.ca)], check=True, capture_output=True)
    tls = server_context(certificates.broker.read_text())
    with Sandbox(nodes=1, topics={"t": 1}, security=ListenerSecurity(tls=tls)).serve() as served:
        lines = (
            f"bootstrap.servers={served.bootstrap}",
            "security.protocol=SSL",
            "ssl.truststore.type=PKCS12",
            f"ssl.truststore.location={folder.file('trusted.p12', store.read_bytes())}",
            "ssl.truststore.password=secret",
        )
        config = folder.file("tls.properties", "\n".join(lines).encode())
        assert folder.run("topics", "list", "--command-config", config)[0].splitlines()[-1].startswith("t ")


def test_archive_has_the_directory_with_manuals_and_completions(built: Path, target: Archive) -> None:
    with tarfile.open(built / target.name) as archive:
        names = {member.name for member in archive if not member.isdir()}
    made = built / "made" / "kctl"
    assert names == {f"kctl/{path.relative_to(made)}" for path in made.rglob("*") if path.is_file()}
    manuals = {f"kctl/share/man/man{path.suffix[1:]}/{path.name}" for path in (ROOT / "man").iterdir()}
    completions = (
        "bash-completion/completions/kctl",
        "zsh/site-functions/_kctl",
        "fish/vendor_completions.d/kctl.fish",
    )
    assert manuals | {f"kctl/share/{name}" for name in completions} | {"kctl/LICENSE", "kctl/sbom.json"} <= names


def test_files_have_the_names_of_the_table_and_checksums_and_are_small(built: Path, target: Archive) -> None:
    listed = [line.split("  ")[1] for line in (built / "SHA256SUMS").read_text().splitlines()]
    assert listed == target.files
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=built, check=True)
    assert [name for name in listed if (built / name).stat().st_size > MOST_BYTES] == []


def test_kctl_comes_from_the_wheel(built: Path) -> None:
    sources = [Path(name) for name in json.loads((built / "work/binary/sources.json").read_text())]
    own = [path for path in sources if "kctl" in path.parts and path.suffix in (".py", ".so")]
    assert len(own) > 100
    assert [path for path in own if not path.is_relative_to(built / "env")] == []


def test_programs_that_kctl_starts_have_the_libraries_of_the_system() -> None:
    environ = {"LD_LIBRARY_PATH": "/bundle:/own", "LD_LIBRARY_PATH_ORIG": "/own", "SSL_CERT_FILE": "/ca.pem"}
    prepare(environ)
    assert environ == {"LD_LIBRARY_PATH": "/own", "SSL_CERT_FILE": "/ca.pem"}
    environ = {"LD_LIBRARY_PATH": "/bundle"}
    prepare(environ)
    assert "LD_LIBRARY_PATH" not in environ
