"""FakeRegistry: a schema registry on loopback that keeps schemas in memory and has faults; Confluent's interface.

Compared with a real one (Apicurio) by tests/broker/test_schemas.py, which runs the same scenarios on both.
"""

import json
import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID, uuid5

NAMESPACE = UUID(int=7)


class FakeRegistry:
    """The schemas of one registry.

    Attributes:
        requests: `METHOD path` of each request.
        fault: answers in the place of the registry while it is set: gets the handler.
        user_info: what a client must log in with; None: nothing.
        serialized: by schema id, the base64 of a FileDescriptorProto; it is what ?format=serialized gives.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.fault: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.user_info: str | None = None
        self.bearer: str | None = None
        self.serialized: dict[int, str] = {}
        self.levels: dict[str, str] = {}
        self._schemas: list[dict[str, Any]] = []
        self._subjects: dict[str, list[int]] = {}
        self.url = ""

    def add(self, subject: str, schema: str, kind: str = "AVRO", references: list[Any] | None = None) -> int:
        """Register a schema and return its id."""
        entry = {"schema": schema, "schemaType": kind, "references": references or []}
        if entry not in self._schemas:
            self._schemas.append(entry)
        number = self._schemas.index(entry) + 1
        versions = self._subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def guid(self, number: int) -> UUID:
        """Return the GUID of a schema."""
        return uuid5(NAMESPACE, str(number))

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        """Return status and JSON."""
        parts = urlsplit(target)
        path = [unquote(each) for each in parts.path.strip("/").split("/")]
        is_serialized = parse_qs(parts.query).get("format") == ["serialized"]
        if path[0] == "schemas":
            return self._schema(path[1], path[2], is_serialized)
        if path[0] == "config":
            return self._config(method, path[1] if len(path) > 1 else "", body)
        if path == ["subjects"]:
            return 200, list(self._subjects)
        subject = path[2] if path[0] == "compatibility" else path[1]
        if subject not in self._subjects and (method != "POST" or path[0] == "compatibility"):
            return 404, _error(40401, f"Subject '{subject}' not found.")
        if path[0] == "compatibility":
            breaks = self._breaks(subject, body)
            return 200, {"is_compatible": not breaks, "messages": ["a field has no default"] if breaks else []}
        if method == "POST":
            return self._register(subject, body)
        if method == "DELETE":
            return 200, list(range(1, len(self._subjects.pop(subject)) + 1))
        if len(path) == 3:
            return 200, list(range(1, len(self._subjects[subject]) + 1))
        return self._version(subject, path[3], is_serialized)

    def _schema(self, kind: str, name: str, is_serialized: bool) -> tuple[int, Any]:
        if kind == "ids":
            return self._by_id(int(name), is_serialized)
        found = [number for number in range(1, len(self._schemas) + 1) if str(self.guid(number)) == name]
        return self._by_id(found[0], is_serialized) if found else (404, _error(40403, "Schema not found"))

    def _config(self, method: str, subject: str, body: Any) -> tuple[int, Any]:
        if method == "PUT":
            self.levels[subject] = body["compatibility"]
            return 200, {"compatibility": body["compatibility"]}
        return 200, {"compatibilityLevel": self.levels.get(subject, self.levels.get("", "BACKWARD"))}

    def _register(self, subject: str, body: Any) -> tuple[int, Any]:
        if not _is_schema(body):
            return 422, _error(42201, "Either the input schema or one its references is invalid")
        if self.levels.get(subject) != "NONE" and self._breaks(subject, body):
            return 409, _error(409, "Schema being registered is incompatible with an earlier schema")
        number = self.add(subject, body["schema"], body.get("schemaType", "AVRO"), body.get("references"))
        return 200, {"id": number}

    def _by_id(self, number: int, is_serialized: bool) -> tuple[int, Any]:
        if not 1 <= number <= len(self._schemas):
            return 404, _error(40403, f"Schema {number} not found")
        found = dict(self._schemas[number - 1])
        if is_serialized and number in self.serialized:
            found["schema"] = self.serialized[number]
        return 200, found

    def _version(self, subject: str, version: str, is_serialized: bool) -> tuple[int, Any]:
        numbers = self._subjects[subject]
        at = len(numbers) if version == "latest" else int(version)
        if not 1 <= at <= len(numbers):
            return 404, _error(40402, f"Version {version} not found.")
        status, found = self._by_id(numbers[at - 1], is_serialized)
        return status, {"subject": subject, "version": at, "id": numbers[at - 1], **found}

    def _breaks(self, subject: str, body: Any) -> bool:
        """Return whether an Avro record has a new field without a default, which breaks readers of older data."""
        numbers = self._subjects.get(subject)
        if not numbers or body.get("schemaType", "AVRO") != "AVRO":
            return False
        old, new = json.loads(self._schemas[numbers[-1] - 1]["schema"]), json.loads(body["schema"])
        known = {field["name"] for field in old.get("fields", ())}
        return any(field["name"] not in known and "default" not in field for field in new.get("fields", ()))


def _is_schema(body: Any) -> bool:
    if body.get("schemaType", "AVRO") == "PROTOBUF":
        return True
    try:
        json.loads(body["schema"])
    except ValueError:
        return False
    return True


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "message": message}


@contextmanager
def running(registry: FakeRegistry) -> Iterator[FakeRegistry]:
    """Serve the registry on a free port of loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            registry.requests.append(f"{self.command} {self.path}")
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if registry.fault is not None:
                registry.fault(self)
                return
            wanted = {
                *([] if registry.user_info is None else [f"Basic {b64encode(registry.user_info.encode()).decode()}"]),
                *([] if registry.bearer is None else [f"Bearer {registry.bearer}"]),
            }
            if wanted and self.headers.get("Authorization") not in wanted:
                self.reply(401, {"error_code": 401, "message": "Unauthorized"})
                return
            self.reply(*registry.answer(self.command, self.path, body))

        do_GET = do_POST = do_PUT = do_DELETE = handle_one

        def reply(self, status: int, content: Any) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    registry.url = re.sub("/$", "", f"http://127.0.0.1:{server.server_port}")
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
