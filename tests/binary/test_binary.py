"""The binary in a file system that has the C library, zlib, the binary, and nothing else: no Python, no shell."""

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kctl.client import Producer
from kctl.client.security.tls import server_context
from kctl.sandbox import ListenerSecurity, Sandbox
from kctl.version import VERSION
from tests.cli.processes import BOUND_S, address_of
from tests.cli.test_sandbox_security import login
from tests.support.kafka.certificates import make_certificates
from tools.binary_start import prepare
from tools.debian_root import command_in

ROOT = Path(__file__).parents[2]
MOST_BYTES = 35_000_000
"""Of the archive."""


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the directory with the results of `make binary`; that target builds them first."""
    return Path(os.environ.get("KCTL_BINARY", ROOT / "build" / "binary")).resolve()


@pytest.fixture(scope="session")
def root(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file system."""
    root = tmp_path_factory.mktemp("root")
    listed = subprocess.run(
        ["dpkg", "-L", "libc6", "zlib1g"], check=True, capture_output=True, text=True
    ).stdout.split()
    for path in map(Path, listed):
        if path.parent.name.endswith("-linux-gnu") and ".so" in path.name:
            target = root / "lib" / path.parent.name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path.resolve(), target)
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    (root / "lib64").mkdir()
    shutil.copy2(loader.resolve(), root / "lib64" / loader.name)
    for name in ("dev", "proc", "tmp", "data", "root"):
        (root / name).mkdir()
    shutil.copytree(built / "made" / "kctl", root / "opt" / "kctl", symlinks=True)
    [one_file] = built.glob(f"kctl-{VERSION}-linux-*[!z]")
    shutil.copy2(one_file, root / "opt" / "one-file")
    return root


class Binary:
    """One form of the binary in the file system."""

    def __init__(self, root: Path, program: str) -> None:
        self.root = root
        self.program = program

    def command(self, *arguments: str, environ: dict[str, str] | None = None) -> list[str]:
        return command_in(self.root, [self.program, *arguments], environ=environ or {})

    def run(
        self, *arguments: str, stdin: bytes = b"", code: int = 0, environ: dict[str, str] | None = None
    ) -> tuple[str, str]:
        """Return stdout and stderr of a run, which exits with `code`."""
        done = subprocess.run(
            self.command(*arguments, environ=environ), input=stdin, capture_output=True, timeout=BOUND_S, check=False
        )
        stdout, stderr = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, (arguments, done.returncode, stdout, stderr)
        assert "Traceback" not in stderr
        return stdout, stderr

    def file(self, name: str, content: bytes) -> str:
        """Write a file and return its path as the binary sees it."""
        (self.root / "data" / name).write_bytes(content)
        return f"/data/{name}"

    @contextmanager
    def running(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        process = subprocess.Popen(
            self.command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=BOUND_S)


@pytest.fixture(params=["/opt/kctl/kctl", "/opt/one-file"])
def binary(root: Path, request: pytest.FixtureRequest) -> Binary:
    return Binary(root, request.param)


@pytest.fixture
def folder(root: Path) -> Binary:
    return Binary(root, "/opt/kctl/kctl")


def test_version_says_that_records_are_compiled(binary: Binary) -> None:
    assert binary.run("--version") == (f"kctl {VERSION}\n", "")
    assert "record module: compiled" in binary.run("--version", "-v")[0]


def test_first_commands_of_the_readme(binary: Binary) -> None:
    with binary.running("sandbox", "start", "--port", "0", "-q") as sandbox:
        environ = {"KCTL_BOOTSTRAP_SERVERS": address_of(sandbox)}
        _, stderr = binary.run("produce", "greetings", stdin=b"hello\nkafka\n", environ=environ)
        assert stderr.endswith("kctl produce: 2 records delivered (greetings-0: 2)\n")
        printed, _ = binary.run("consume", "greetings", "-o", "start", "-e", "-f", r"%t-%p@%o %v\n", environ=environ)
        assert printed == "greetings-0@0 hello\ngreetings-0@1 kafka\n"
        assert binary.run("probe", "-q", environ=environ)[0] == "ok: 3 of 3 addresses ready\n"
        assert binary.run("why", "topic", "greetings", environ=environ)[0] != ""
        assert binary.run("doctor", environ=environ)[0] != ""


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


def test_archive_has_manuals_and_completions_and_is_small(built: Path) -> None:
    share = built / "made" / "kctl" / "share"
    manuals = {path.name for path in (ROOT / "man").iterdir()}
    assert {path.name for path in (share / "man").rglob("kctl*")} == manuals
    for name in ("bash-completion/completions/kctl", "zsh/site-functions/_kctl", "fish/vendor_completions.d/kctl.fish"):
        assert (share / name).is_file()
    [archive] = built.glob("*.tar.xz")
    assert archive.stat().st_size <= MOST_BYTES
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=built, check=True)


def test_programs_that_kctl_starts_have_the_libraries_of_the_system() -> None:
    environ = {"LD_LIBRARY_PATH": "/bundle:/own", "LD_LIBRARY_PATH_ORIG": "/own", "SSL_CERT_FILE": "/ca.pem"}
    prepare(environ)
    assert environ == {"LD_LIBRARY_PATH": "/own", "SSL_CERT_FILE": "/ca.pem"}
    environ = {"LD_LIBRARY_PATH": "/bundle"}
    prepare(environ)
    assert "LD_LIBRARY_PATH" not in environ
