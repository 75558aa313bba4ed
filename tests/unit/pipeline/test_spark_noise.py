"""What Spark's packages print while a session of ours is open: in Spark's log, and not on the terminal."""

import logging
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import py4j
import pyspark
import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JNetworkError

from kctl.pipeline import running
from kctl.pipeline.running import open_session
from kctl.pipeline.session import ClassicSession, Gateway, Session, SessionOptions
from kctl.pipeline.spark_noise import send_accumulator_errors

SPARK_FILE = str(Path(pyspark.__file__).with_name("context.py"))


def code_of(filename: str) -> Callable[[], None]:
    """Return a function that raises, of a file."""
    scope: dict[str, Any] = {}
    exec(compile("def work():\n    raise ValueError('lost')\n", filename, "exec"), scope)
    work: Callable[[], None] = scope["work"]
    return work


def warn(filename: str, text: str) -> None:
    warnings.warn_explicit(text, FutureWarning, filename, 1, registry={})


def end_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def lose_command() -> None:
    """Ctrl-C while Spark starts: py4j prints a traceback of the call under way."""
    client = GatewayClient()
    client._get_connection = lambda: Mock(send_command=Mock(side_effect=Py4JNetworkError("reset by peer")))
    client.send_command("c", retry=False)


def lose_updates(log: Any) -> None:
    context: Any = SimpleNamespace(_accumulatorServer=SimpleNamespace())
    send_accumulator_errors(context, log)
    try:
        raise EOFError("the JVM exited")
    except EOFError:
        context._accumulatorServer.handle_error(None, None)


@pytest.fixture(autouse=True)
def _sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sessions without a JVM."""
    monkeypatch.setattr(running, "check_installed", lambda _options: None)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)


def make_noise(_self: Gateway, _options: object, _name: object, _folder: object, log: Any, *_: object) -> Session:
    """Print as Spark's packages do, in place of the start of a JVM."""
    warn(SPARK_FILE, "pandas is too new")
    warn("/x/site-packages/pandas/core/frame.py", "numpy is too old")
    end_thread(code_of(SPARK_FILE))
    end_thread(code_of(str(Path(py4j.__file__).with_name("clientserver.py"))))
    lose_command()
    lose_updates(log)
    return ClassicSession(Mock(), None, is_local=True)


@pytest.mark.filterwarnings("always::FutureWarning")
def test_noise_of_spark_is_in_its_log_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(Gateway, "launch", make_noise)
    with open_session(SessionOptions("local[1]", log_path=tmp_path / "log"), "x"):
        pass
    lose_command()  # a thread of py4j that is late
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")
    log = (tmp_path / "log").read_text()
    for words in ("pandas is too new", "numpy is too old", "reset by peer", "the JVM exited"):
        assert words in log
    assert log.count("ValueError: lost") == 2


@pytest.mark.filterwarnings("always::FutureWarning")
def test_messages_of_others_during_a_session_stay_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    shown_warnings: list[object] = []

    def show(message: object, *_: object) -> None:
        shown_warnings.append(str(message))

    monkeypatch.setattr(warnings, "showwarning", show)
    monkeypatch.setattr(Gateway, "launch", lambda *_: ClassicSession(Mock(), None, is_local=True))
    with open_session(SessionOptions("local[1]", log_path=tmp_path / "log"), "x"):
        warn("/home/user/job.py", "a warning of a job")
        end_thread(code_of("/home/user/job.py"))
        logging.error("an error of a job")
    assert shown_warnings == ["a warning of a job"]
    assert "ValueError: lost" in capsys.readouterr().err
    assert [record.getMessage() for record in caplog.records] == ["an error of a job"]
    assert (tmp_path / "log").read_text() == ""
    assert warnings.showwarning is show
    assert threading.excepthook is threading.__excepthook__
