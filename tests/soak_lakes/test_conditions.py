"""What exactly-once relies on, asked of versitygw request by request: conditions, lists, and kills while it writes.

Amazon documents the answers that are expected here. A server that gave others could show nothing about exports.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.soak_lakes.blows import SEED
from tests.support.kafka.requirements import have
from tests.support.s3.versity import VersityServer, installed_versitygw

AT_ONCE = 8
ROUNDS = 40
KILLS = 12
ONE_ATTEMPT = Config(retries={"total_max_attempts": 1}, max_pool_connections=AT_ONCE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VersityServer]:
    with VersityServer(have(installed_versitygw), tmp_path_factory.mktemp("objects")) as server:
        yield server


@pytest.fixture
def s3(server: VersityServer) -> Any:
    return server.client(ONE_ATTEMPT)


def status_of(request: Callable[[], dict[str, Any]]) -> int:
    try:
        return int(request()["ResponseMetadata"]["HTTPStatusCode"])
    except ClientError as e:
        return int(e.response["ResponseMetadata"]["HTTPStatusCode"])


def content(s3: Any, key: str) -> bytes:
    return bytes(s3.get_object(Bucket="kafka", Key=key)["Body"].read())


def put(s3: Any, key: str, body: bytes, **more: str) -> int:
    return status_of(lambda: s3.put_object(Bucket="kafka", Key=key, Body=body, **more))


def test_put_unless_there_is_one_writes_once(s3: Any) -> None:
    assert put(s3, "once", b"first", IfNoneMatch="*") == 200
    assert put(s3, "once", b"second", IfNoneMatch="*") == 412
    assert content(s3, "once") == b"first"
    s3.delete_object(Bucket="kafka", Key="once")
    assert put(s3, "once", b"third", IfNoneMatch="*") == 200
    assert content(s3, "once") == b"third"


def test_put_over_one_that_was_read_fails_when_it_has_changed(s3: Any) -> None:
    read = s3.put_object(Bucket="kafka", Key="read", Body=b"first")["ETag"]
    assert put(s3, "read", b"second", IfMatch=read) == 200
    assert put(s3, "read", b"third", IfMatch=read) == 412
    assert content(s3, "read") == b"second"
    assert put(s3, "none", b"x", IfMatch=read) == 404


def test_parts_become_an_object_unless_there_is_one(s3: Any) -> None:
    part = Random(1).randbytes(5 * 1024 * 1024)

    def complete(key: str) -> int:
        at = {
            "Bucket": "kafka",
            "Key": key,
            "UploadId": s3.create_multipart_upload(Bucket="kafka", Key=key)["UploadId"],
        }
        tags = [s3.upload_part(**at, PartNumber=number, Body=part)["ETag"] for number in (1, 2)]
        parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
        return status_of(lambda: s3.complete_multipart_upload(**at, MultipartUpload={"Parts": parts}, IfNoneMatch="*"))

    assert complete("parts") == 200
    assert content(s3, "parts") == part + part
    assert complete("parts") == 412


def test_of_puts_at_once_one_is_written(s3: Any) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(ROUNDS):
            key, barrier = f"race-{number}", threading.Barrier(AT_ONCE)

            def ask(who: int, key: str, barrier: threading.Barrier, more: dict[str, str]) -> int:
                barrier.wait()
                return put(s3, key, b"%b %d" % (min(more).encode(), who), **more)

            for more in ({"IfNoneMatch": "*"}, {"IfMatch": ""}):
                if "IfMatch" in more:
                    more["IfMatch"] = s3.head_object(Bucket="kafka", Key=key)["ETag"]
                codes = list(pool.map(ask, range(AT_ONCE), [key] * AT_ONCE, [barrier] * AT_ONCE, [more] * AT_ONCE))
                winners = [who for who, code in enumerate(codes) if code == 200]
                assert len(winners) == 1, (more, codes)
                assert set(codes) <= {200, 409, 412}, codes
                assert content(s3, key) == b"%b %d" % (min(more).encode(), winners[0])


def test_list_shows_what_was_put_and_not_what_was_deleted(s3: Any) -> None:
    for number in range(ROUNDS):
        put(s3, f"listed/{number:04}", b"x")
        found = s3.list_objects_v2(Bucket="kafka", Prefix="listed/")["Contents"]
        assert [each["Key"] for each in found] == [f"listed/{each:04}" for each in range(number + 1)]
    s3.delete_object(Bucket="kafka", Key="listed/0000")
    assert s3.list_objects_v2(Bucket="kafka", Prefix="listed/")["Contents"][0]["Key"] == "listed/0001"


def test_object_is_whole_or_absent_after_kills_while_it_is_written(server: VersityServer) -> None:
    rng = Random(SEED)
    bodies: dict[str, bytes] = {}
    written: set[str] = set()

    def write(key: str) -> None:
        s3 = server.client(ONE_ATTEMPT)
        try:
            if put(s3, key, bodies[key], IfNoneMatch="*") == 200:
                written.add(key)
        except BotoCoreError:
            return

    for number in range(KILLS):
        keys = [f"killed/{number}-{who}" for who in range(AT_ONCE)]
        bodies.update({key: rng.randbytes(4 * 1024 * 1024) for key in keys})
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(write, key) for key in keys]
            threading.Event().wait(rng.random() / 4)
            server.kill()
            for each in done:
                each.result()
        server.start()
    s3 = server.client(ONE_ATTEMPT)
    there = {f"killed/{key}" for key in server.keys("killed")}
    assert written <= there
    assert {key: content(s3, key) == bodies[key] for key in there} == dict.fromkeys(there, True)
    assert written != set(bodies), "no kill came while one was written"
