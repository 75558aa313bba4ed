"""Ctrl-C at every point: repeats a call, each time with a KeyboardInterrupt one boundary later.

A boundary is a point in code of kctl.client at which CPython may run a signal handler: the start of a function, the
return of a call, and the end of a loop iteration. (The eval breaker is checked nowhere else, which makes `with` safe.)
Only the thread and greenlet of the call are interrupted, never the network loop.

    def scene(interrupted: Interrupted) -> None:
        interrupted(lambda: producer.send("t", b"x"))  # returns whether it was interrupted
        ...                                            # assert conditions that hold after any interrupt

    each_boundary(scene)
"""

import dis
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

from greenlet import getcurrent

import kctl.client

CLIENT = str(Path(kctl.client.__file__).parent)
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_AT = os.environ.get("KCTL_INTERRUPT_AT")
"""The one boundary to try of scenes with some boundaries, which a failed check has named."""
_POINTS = os.environ.get("KCTL_BOUNDARIES")
"""Number of boundaries to try in such scenes, overriding them: `make sim-long`."""
_AT_EACH = bool(os.environ.get("KCTL_EACH_BOUNDARY"))
"""True to play scenes for each boundary, regardless of their step: `make sim-long`."""
_MOST_WHOLE = 5
"""Scenes without an interrupt that count the boundaries."""
_JUMP_BACK = "JUMP_BACKWARD"
"""After calls and these jumps CPython looks for signals; in 3.11 some of the jumps have a condition in their name."""


class Interrupted:
    """Runs one call with an interrupt at the boundary of that number, counted from 1.

    Attributes:
        at: where the interrupt was raised, as "file:line function"; None if the call had fewer boundaries.
        seen: how many boundaries the call has reached.
        result: what the call returned, if it did.
        handler: what the signal handler does before it raises KeyboardInterrupt.
    """

    def __init__(self, boundary: int, folder: str = CLIENT) -> None:
        self.boundary = boundary
        self.at: str | None = None
        self.result: Any = None
        self.handler: Callable[[], object] = lambda: None
        self._folder = folder
        self.seen = 0
        self._actor = getcurrent()

    def __call__(self, call: Callable[[], object]) -> bool:
        """Run the call; return whether it was interrupted. Any other error of the call is raised."""
        self._actor = getcurrent()
        gc.disable()  # objects of earlier scenes are not finalized inside of this one
        end = self._begin_tracing()
        try:
            self.result = call()
        except KeyboardInterrupt:
            assert self.at is not None, "an interrupt that was not raised here"
            return True
        finally:
            end()
            gc.enable()
        assert self.at is None, f"the interrupt at {self.at} was swallowed"
        return False

    def _begin_tracing(self) -> Callable[[], object]:
        """Trace the following instructions. Return the function that stops it."""
        if sys.version_info >= (3, 12):
            previous: dict[FrameType, int] = {}

            def on_instruction(code: CodeType, offset: int) -> object:
                if not code.co_filename.startswith(self._folder):
                    return sys.monitoring.DISABLE
                if getcurrent() is self._actor:
                    frame = sys._getframe(1)
                    before = previous.get(frame, -1)
                    previous[frame] = offset
                    if before < 0 or (before, offset) in _boundaries(code):
                        self._reach(frame)
                return None

            # sys.settrace() sees no instructions of a frame that it was set in; a tool sees all of them.
            tool = sys.monitoring.PROFILER_ID
            sys.monitoring.use_tool_id(tool, "interrupts")
            sys.monitoring.register_callback(tool, sys.monitoring.events.INSTRUCTION, on_instruction)
            sys.monitoring.restart_events()
            sys.monitoring.set_events(tool, sys.monitoring.events.INSTRUCTION)

            def end() -> None:
                sys.monitoring.set_events(tool, 0)
                sys.monitoring.register_callback(tool, sys.monitoring.events.INSTRUCTION, None)
                sys.monitoring.free_tool_id(tool)

            return end
        before = sys.gettrace()
        sys.settrace(self._enter)
        return lambda: sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """Trace the functions of the client that this actor calls, instruction by instruction."""
        code = frame.f_code
        if getcurrent() is not self._actor or not code.co_filename.startswith(self._folder):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        previous = -1

        def on_instruction(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            nonlocal previous
            if event == "opcode":
                if (previous, frame.f_lasti) in _boundaries(code) or previous < 0:
                    self._reach(frame)
                previous = frame.f_lasti
            return on_instruction

        return on_instruction

    def _reach(self, frame: FrameType) -> None:
        self.seen += 1
        if self.seen == self.boundary:
            code = frame.f_code
            self.at = f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname}"
            self.handler()
            raise KeyboardInterrupt


class _Boundaries:
    """The pairs of instructions between which a signal may be handled.

    The interrupt is raised by the first of a pair in CPython and by the second one here, so pairs with different
    exception handlers are left out.
    """

    def __init__(self, code: CodeType) -> None:
        self._checked: set[int] = set()
        self._handlers: dict[int, int] = {}
        bytecode = dis.Bytecode(code)
        entries = getattr(bytecode, "exception_entries", ())
        for instruction in bytecode:
            at = instruction.offset
            self._handlers[at] = next((entry.target for entry in entries if entry.start <= at < entry.end), -1)
            if instruction.opname in _CALLS or _JUMP_BACK in instruction.opname:
                self._checked.add(at)

    def __contains__(self, pair: tuple[int, int]) -> bool:
        before, at = pair
        return before in self._checked and self._handlers.get(before) == self._handlers.get(at)


@cache
def _boundaries(code: CodeType) -> _Boundaries:
    return _Boundaries(code)


def each_boundary(
    scene: Callable[[Interrupted], None], *, most: int = 3000, step: int = 1, folder: str = CLIENT
) -> int:
    """Run the scene with an interrupt at its first boundary, its second, and so on, until its call completes.

    Args:
        scene: makes one call with the given `Interrupted`, and checks the conditions after it.
        most: maximum number of boundaries.
        step: interrupt at every n-th boundary only, unless KCTL_EACH_BOUNDARY is set.
        folder: prefix of the file names of the code to interrupt.
    Returns: the number of tried boundaries. A failing check reports the position of the interrupt.
    """
    step = 1 if _AT_EACH else step
    for number in range(1, most + 2, step):
        if not _is_interrupted(scene, number, folder, f"interrupt {number}"):
            return number - 1
    raise AssertionError(f"more than {most} boundaries")


def some_boundaries(scene: Callable[[Interrupted], None], *, points: int, folder: str = CLIENT) -> int:
    """Run the scene with an interrupt at its first and its last boundary, and at one in each part between.

    A failing check says what repeats it.

    Args:
        scene: as for `each_boundary`; nothing may be left of one for the next, so that all have the same boundaries.
        points: how many boundaries, unless KCTL_BOUNDARIES is set.
    Returns: how many scenes were interrupted.
    """
    count = before = 0
    for _ in range(_MOST_WHOLE):  # the first calls include one-time work: imports, message codecs
        count, before = _boundary_count(scene, folder), count
        if count == before:
            break
    numbers = _spread(count, int(_POINTS or points)) if _AT is None else [int(_AT)]
    name = f"KCTL_INTERRUPT_AT={{}} of {count}"
    return sum(_is_interrupted(scene, number, folder, name.format(number)) for number in numbers)


def _boundary_count(scene: Callable[[Interrupted], None], folder: str) -> int:
    whole = Interrupted(0, folder)
    scene(whole)
    assert whole.at is None
    return whole.seen


def _spread(count: int, points: int) -> Sequence[int]:
    """Return numbers from 1 to `count`: both, and one drawn in each of equal parts between."""
    if points >= count:
        return range(1, count + 1)
    random = Random(count)
    between = points - 2
    ends = [2 + (count - 2) * part // between for part in range(between + 1)]
    return [1, *(random.randrange(start, end) for start, end in pairwise(ends)), count]


def _is_interrupted(scene: Callable[[Interrupted], None], number: int, folder: str, name: str) -> bool:
    interrupted = Interrupted(number, folder)
    try:
        scene(interrupted)
    except BaseException as error:
        error.add_note(f"{name} was at {interrupted.at}")
        raise
    return interrupted.at is not None
