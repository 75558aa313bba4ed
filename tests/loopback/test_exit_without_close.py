"""Programs that end without close(), as whole processes: accepted records arrive, or a line on stderr counts them."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kctl.client import Admin, Consumer, TopicPartition
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound

PATIENCE_S = bound(120)
"""A program that does not end fails its test after this time."""
WAITING = "waiting for up to "
IMPORTS = """
import gc, multiprocessing, os, sys, threading, time
from kctl.client import Consumer, Producer
"""
DEAD = {"delivery.timeout.ms": 1500, "request.timeout.ms": 500, "linger.ms": 0}
LOSE_BROKERS = """
import kctl.client.network.network_client as network
def send(self, outgoing): self.requests.dropped = outgoing
network.NetworkClient.send = send
"""
"""No request leaves this process any more, as if all brokers were silent."""

PROGRAMS = {
    "module": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 0})
p.send("module", b"1")
""",
    "lingering": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 60_000})
for _ in range(1000): p.send("lingering", b"x" * 100)
sys.exit(0)
""",
    "local": """
def main():
    p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
    for _ in range(1000): p.send("local", b"x" * 100)
main()
""",
    "many": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 5})
for _ in range(50_000): p.send("many", b"x")
""",
    "raising": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
p.send("raising", b"1")
raise ValueError("of the program")
""",
    "cyclic": """
class Service:
    def __init__(self):
        self.producer = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000}, events=self.on_event)
    def on_event(self, event): pass
Service().producer.send("cyclic", b"1")
""",
    "threads": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
def work():
    threading.main_thread().join()
    for _ in range(10): p.send("threads", b"1")
threading.Thread(target=work).start()
""",
    "handler": """
import atexit
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
atexit.register(lambda: p.send("handler", b"1"))
""",
    "late use": """
import atexit, kctl.client
atexit.register(lambda: kctl.client.Producer({"bootstrap.servers": BOOTSTRAP}).send("late use", b"1"))
""",
    "early handler": """
import atexit
atexit.register(lambda: kctl.client.Producer({"bootstrap.servers": BOOTSTRAP}).send("early handler", b"1"))
import kctl.client
""",
    "late import": """
import atexit, logging
def late():
    import kctl.client
    kctl.client.Producer({"bootstrap.servers": BOOTSTRAP}).send("late import", b"1")
atexit.register(late)
""",
    "two": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
q = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
p.send("two", b"1"); q.send("two", b"2")
""",
    "forked": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
p.send("forked", b"1")
if os.fork() == 0:
    sys.exit(0)
os.wait()
""",
    "worker": """
def work():
    global p
    p = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000})
    p.send("worker", b"1")
process = multiprocessing.get_context("fork").Process(target=work)
process.start(); process.join()
""",
    "member": """
c = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "member", "session.timeout.ms": 600_000})
c.subscribe(["module"])
while not c.assignment: c.poll(0.1)
print("joined")
""",
    "transaction": """
p = Producer({"bootstrap.servers": BOOTSTRAP, "transactional.id": "x", "transaction.timeout.ms": 600_000})
p.init_transactions(); p.begin_transaction()
p.send("transaction", b"1").result()
""",
    "dead": f"""
p = Producer({{"bootstrap.servers": BOOTSTRAP, **{DEAD}}})
p.send("dead", b"1").result()
{LOSE_BROKERS}
p.send("dead", b"2")
""",
    "interrupted": f"""
p = Producer({{"bootstrap.servers": BOOTSTRAP, "linger.ms": 0}})
p.send("dead", b"1").result()
{LOSE_BROKERS}
p.send("dead", b"2")
""",
    "closed": """
with Producer({"bootstrap.servers": BOOTSTRAP}) as p: p.send("closed", b"1")
""",
    "exit in with": """
with Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000}) as p:
    for _ in range(1000): p.send("exit in with", b"1")
    sys.exit(0)
""",
    "failure in with": f"""
with Producer({{"bootstrap.servers": BOOTSTRAP, "linger.ms": 1000}}) as p:
    p.send("dead", b"1").result()
    {"; ".join(["p.send('dead', b'2')"] * 3)}
    sys.exit(3)
""",
}
WITHOUT_IMPORTS = {"late use", "early handler", "late import"}
DELIVERED = {
    "module": 1, "lingering": 1000, "local": 1000, "many": 50_000, "raising": 1, "cyclic": 1, "threads": 10,
    "handler": 1, "late use": 1, "two": 2, "forked": 1, "worker": 1, "closed": 1, "exit in with": 1000,
}  # fmt: skip
"""Records in the topic of each program."""


class Ended:
    """A program that has ended."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.stdout, stderr = process.communicate(timeout=PATIENCE_S)
        lines = stderr.splitlines(keepends=True)
        self.stderr = "".join(line for line in lines if not line.startswith(WAITING))  # on a slow machine
        self.code = process.returncode


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={name.replace(" ", "-"): 1 for name in PROGRAMS}).serve() as served:
        yield served


def start(bootstrap: str, program: str) -> "subprocess.Popen[str]":
    imports = "" if program in WITHOUT_IMPORTS else IMPORTS
    text = f"BOOTSTRAP = {bootstrap!r}{imports}{PROGRAMS[program].replace(program, program.replace(' ', '-'))}"
    quiet = ("-W", "ignore:This process:DeprecationWarning")  # since Python 3.12, in a process with threads
    command = [sys.executable, *quiet, "-c", text]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def ended(served: ServedSandbox) -> dict[str, Ended]:
    """Run all programs but those that get a signal, together."""
    processes = {name: start(served.bootstrap, name) for name in PROGRAMS if name != "interrupted"}
    return {name: Ended(process) for name, process in processes.items()}


def records_in(served: ServedSandbox, topic: str) -> int:
    with Consumer({"bootstrap.servers": served.bootstrap}) as consumer:
        tp = TopicPartition(topic.replace(" ", "-"), 0)
        return consumer.end_offsets([tp], timeout=PATIENCE_S)[tp]


@pytest.mark.parametrize("program", DELIVERED)
def test_program_that_ends_delivers_what_it_accepted(
    served: ServedSandbox, ended: dict[str, Ended], program: str
) -> None:
    assert records_in(served, program) == DELIVERED[program]
    assert ended[program].code == (1 if program == "raising" else 0)
    if program != "raising":
        assert ended[program].stderr == ""


@pytest.mark.parametrize("program", ["early handler", "late import"])
def test_producer_in_a_handler_that_runs_after_the_wait_is_refused(ended: dict[str, Ended], program: str) -> None:
    assert "IllegalStateError: cannot create a producer: the program has ended" in ended[program].stderr


def test_consumer_of_a_program_that_ends_leaves_its_group(served: ServedSandbox, ended: dict[str, Ended]) -> None:
    assert (ended["member"].stdout, ended["member"].stderr) == ("joined\n", "")
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        assert admin.describe_groups(["member"], timeout=PATIENCE_S).done["member"].members == ()


def test_open_transaction_of_a_program_that_ends_is_aborted(served: ServedSandbox, ended: dict[str, Ended]) -> None:
    assert ended["transaction"].stderr == "kctl.client: the program ended without close(): transaction x aborted\n"
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        assert admin.describe_transactions(["x"], timeout=PATIENCE_S).done["x"].state == "CompleteAbort"


def test_records_that_are_not_delivered_are_counted_in_one_line(ended: dict[str, Ended]) -> None:
    lines = [line for line in ended["dead"].stderr.splitlines() if line.startswith("kctl.client: ")]
    assert len(lines) == 1
    assert lines[0].startswith("kctl.client: the program ended without close(): 1 record not delivered (timed out ")


def test_exception_in_the_with_block_logs_how_many_records_are_dropped(ended: dict[str, Ended]) -> None:
    assert ended["failure in with"].code == 3
    assert ended["failure in with"].stderr == "3 records not delivered: the with block ended with SystemExit(3)\n"


def test_ctrl_c_ends_the_wait(served: ServedSandbox) -> None:
    process = start(served.bootstrap, "interrupted")
    assert process.stderr is not None
    assert next(iter(process.stderr)).startswith(WAITING)
    process.send_signal(signal.SIGINT)
    ended = Ended(process)
    assert ended.stderr.startswith("kctl.client: the program ended without close(): 1 record not delivered")
    assert ended.stderr.count("\n") == 1
