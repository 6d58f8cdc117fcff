# SPDX-License-Identifier: Apache-2.0
"""Starts a node, spins it and ends it, with an exit code that says how it went; imports rclpy.

    def main(arguments: Sequence[str] | None = None) -> int:
        return run_node(DynamicsNode, arguments)

rclpy's own signal handlers shut the context down while the node's threads still publish. Here a signal only requests
the end: callbacks end first, then the node closes (`close()`, if it has one), then the context goes.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import USAGE_ERROR, AdaError, InputError
from ada_robot.interrupts import COMPILER
from ada_robot.ros import environment

CLEAN = 0
FAILED = 1

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3  # signals after which the process ends at once; a launch file and its terminal send two
_LOOK = 0.05  # [s] between checks of signals, and of the node's attribute `failure`
_LOG_INTERVAL = 1.0  # [s] between logs of failed callbacks
_LAST_CALLBACK = 5.0  # [s] that a callback has to return at the end; launch kills 10 s after its first signal
_EXECUTOR = "executor"  # name of the thread that runs callbacks


def run_node(make: Callable[[], Node], arguments: Sequence[str] | None = None) -> int:
    """Make a node, spin it until something ends it, close it.

    A node may have `halt()`, called at once when the run ends, beside a callback that may take seconds to return: a
    robot must not go on for that long; `close()`, called once after the last callback; and `failure`, an exception that
    ends the run; with `outlives_callbacks` an exception in a callback is logged and does not.

    Args:
        make: the node's class, or a function that returns one; what it raises as AdaError is the user's to mend.
        arguments: what stands after the program's name; by default the process' own.

    Returns:
        0 after a signal or a shutdown, 1 after a failure, 2 if the node could not be made as the user wants it.
    """
    name = Path(sys.argv[0]).stem or "node"
    environment.prepare()
    warning = environment.mixed_installations()
    if warning is not None:
        _say(name, "warning", warning)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in ("-h", "--help"):
        print(f"usage: {name} [--ros-args -p PARAMETER:=VALUE ...]\n\n{inspect.getdoc(make) or ''}".rstrip())
        return CLEAN
    with _Signals() as signals:
        code = _code(make, name, given, signals)
        if {_EXECUTOR, COMPILER} & {thread.name for thread in threading.enumerate()}:
            # compiling may take longer than a launch system waits before it kills; LLVM's memory must outlive it
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        return code


def _code(make: Callable[[], Node], name: str, arguments: list[str], signals: _Signals) -> int:
    try:
        node = _start(make, arguments, signals)
        return CLEAN if node is None else _run(node, name, signals)
    except AdaError as problem:
        _say(name, "error", problem)
        return USAGE_ERROR
    except Exception as problem:
        return _failure(name, problem)
    finally:
        rclpy.try_shutdown()


def _start(make: Callable[[], Node], arguments: list[str], signals: _Signals) -> Node | None:
    """The node; None if a signal came before there was one."""
    node: Node | None = None
    try:
        _initialise(arguments)
        node = make()
        signals.begin()
    except _Stopped:
        pass
    except Exception:  # a half-made node may fail again while it is destroyed
        if not signals.count:
            raise
    return node


def _initialise(arguments: list[str]) -> None:
    """Start rclpy; its refusals of arguments become our errors."""
    try:
        rclpy.init(args=["node", *arguments], signal_handler_options=SignalHandlerOptions.NO)
    except Exception as problem:  # RCLError, UnknownROSArgsError and others: their classes differ between distributions
        hint = "Numbers of one list must all have a point, or none: [1.0, 2.5]." if "same type" in str(problem) else ""
        raise InputError(f"ROS 2 does not take these arguments: {problem}. {hint}") from problem
    unknown = remove_ros_args(["node", *arguments])[1:]
    if unknown:
        raise InputError(
            f"argument {unknown[0]!r} is unknown. Parameters are given after --ros-args as -p name:=value, "
            "or in a file as --params-file FILE."
        )


def _run(node: Node, name: str, signals: _Signals) -> int:
    """Spin in a thread, because the main thread must be free for signals."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    problems: list[Exception] = []
    ending = threading.Event()

    def spin() -> None:
        try:
            while not ending.is_set() and _spin(node, executor, ending):
                pass
        except ExternalShutdownException:
            pass
        except Exception as problem:
            problems.append(problem)
        finally:
            ending.set()

    thread = threading.Thread(target=spin, name=_EXECUTOR, daemon=True)
    signals.begin()
    thread.start()
    while not signals.count and _reported(node) is None and not ending.wait(_LOOK):
        pass
    ending.set()
    try:
        _called(node, "halt")
    except Exception as problem:  # the node is still closed
        problems.append(problem)
    deadline = SYSTEM_CLOCK() + _LAST_CALLBACK
    executor.shutdown(_LAST_CALLBACK)
    thread.join(max(0.0, deadline - SYSTEM_CLOCK()))
    try:
        _called(node, "close")
        reported = _reported(node)
        node.destroy_node()
    except Exception as problem:
        if rclpy.ok():
            problems.append(problem)
        reported = _reported(node)
    problems += [reported] if reported is not None else []
    return _failure(name, problems[0]) if problems else CLEAN


def _spin(node: Any, executor: SingleThreadedExecutor, ending: threading.Event) -> bool:
    """Spin until something ends it; true where a callback failed and the node is to live on."""
    try:
        executor.spin()
    except ExternalShutdownException:
        raise
    except Exception:
        # at the end rclpy may fail on the shutdown of its own context, or of the executor that it runs in
        if not rclpy.ok() or ending.is_set():
            return False
        if not getattr(node, "outlives_callbacks", False):
            raise
        node.get_logger().error(
            f"a callback failed; the node goes on:\n{traceback.format_exc()}", throttle_duration_sec=_LOG_INTERVAL
        )
        return True
    return False


def _called(node: Any, name: str) -> None:
    """Call a method of the node, if it has it."""
    method: Callable[[], object] | None = getattr(node, name, None)
    if method is not None:
        method()


def _reported(node: Any) -> Exception | None:
    failure: Exception | None = getattr(node, "failure", None)
    return failure


class _Stopped(BaseException):
    """A signal came while the node was being made."""


class _Signals:
    """Meaning of SIGINT, SIGTERM and SIGHUP: abort the start of the node; then stop; then, if repeated, end at once."""

    def __init__(self) -> None:
        self.count = 0  # of signals; a handler must not touch a lock, which the thread it interrupts may hold
        self._is_making = True
        self._before: dict[signal.Signals, Any] = {}

    def begin(self) -> None:
        """From here on a signal only counts."""
        self._is_making = False

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():  # elsewhere Python allows no handlers
            for number in _SIGNALS:
                if number is signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count >= _PATIENCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if self._is_making and self.count == 1:
            raise _Stopped


def _failure(name: str, problem: BaseException) -> int:
    if not isinstance(problem, AdaError):  # unexpected: the traceback is needed
        traceback.print_exception(type(problem), problem, problem.__traceback__, file=sys.stderr)
    _say(name, "error", problem)
    return FAILED


def _say(name: str, kind: str, what: object) -> None:
    text = " ".join(str(what).split()) or type(what).__name__
    print(f"{name}: {kind}: {text}", file=sys.stderr, flush=True)
