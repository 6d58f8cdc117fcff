# SPDX-License-Identifier: Apache-2.0
"""Execution of a node: start, spin, shutdown, exit code; imports rclpy.

    def main(arguments: Sequence[str] | None = None) -> int:
        return run_node(DynamicsNode, arguments)

The signal handlers of rclpy shut the context down while threads of the node still publish. Here a signal only requests
the end: callbacks end first, then the node is closed (`close()`, if it has one), then the context is shut down.
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
from ada_robot.processes import COMPILER
from ada_robot.ros import environment

CLEAN = 0
FAILED = 1

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3  # number of signals after which the process ends at once; a launch file and its terminal send two
_LOOK = 0.05  # interval of checks of signals and of the attribute `failure` [s]
_LOG_INTERVAL = 1.0  # minimum time between logs of failed callbacks [s]
_LAST_CALLBACK = 5.0  # timeout of a callback at the end [s]; launch kills 10 s after its first signal
_EXECUTOR = "executor"  # name of the thread that runs callbacks


def run_node(make: Callable[[], Node], arguments: Sequence[str] | None = None) -> int:
    """Create a node, spin it until it ends, and close it.

    A node may have the following attributes: `halt()`, called at once at the end of the run, concurrently with a slow
    callback, to stop robots; `close()`, called once after the last callback; `failure`, an exception that ends the run;
    `outlives_callbacks`, with which exceptions in callbacks are logged and do not end the run.

    Args:
        make: class of the node, or a function that returns one; AdaErrors are reported as usage errors.
        arguments: arguments of the process; None for sys.argv.

    Returns:
        0 after a signal or a shutdown, 1 after a failure, 2 after a usage error.
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
            # end without waiting for the compiler, which may take longer than launch waits before it kills
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        return code


def _code(make: Callable[[], Node], name: str, arguments: list[str], signals: _Signals) -> int:
    """Create the node and run it, unless a signal is received before; return the exit code."""
    try:
        _initialise(arguments)
        node = make()
        signals.begin()
        return _run(node, name, signals)
    except _Stopped:
        return CLEAN
    except Exception as problem:
        if signals.count:  # destruction of an incomplete node may raise after a signal
            return CLEAN
        if not isinstance(problem, AdaError):
            return _failure(name, problem)
        _say(name, "error", problem)
        return USAGE_ERROR
    finally:
        rclpy.try_shutdown()


def _initialise(arguments: list[str]) -> None:
    """Initialize rclpy; refused arguments become usage errors."""
    try:
        rclpy.init(args=["node", *arguments], signal_handler_options=SignalHandlerOptions.NO)
    except Exception as problem:  # RCLError, UnknownROSArgsError and others: the classes differ between distributions
        hints = {
            "same type": " All numbers of a list must have a decimal point, or none: [1.0, 2.5].",
            "YAML": " Values are YAML: quote text with a colon at its end, in a shell twice: url:=\"'dry:'\".",
        }
        hint = "".join(text for sign, text in hints.items() if sign in str(problem))
        raise InputError(f"ROS 2 refuses these arguments: {problem}.{hint}") from problem
    unknown = remove_ros_args(["node", *arguments])[1:]
    if unknown:
        raise InputError(
            f"unknown argument {unknown[0]!r}. Parameters follow --ros-args as -p name:=value, "
            "or are given in a file by --params-file FILE."
        )


def _run(node: Any, name: str, signals: _Signals) -> int:
    """Spin in a thread, because the main thread handles signals."""
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

    def failure() -> list[Exception]:
        reported: Exception | None = getattr(node, "failure", None)
        return [] if reported is None else [reported]

    thread = threading.Thread(target=spin, name=_EXECUTOR, daemon=True)
    thread.start()
    while not signals.count and not failure() and not ending.wait(_LOOK):
        pass
    ending.set()
    try:
        getattr(node, "halt", bool)()
    except Exception as problem:  # close the node nevertheless
        problems.append(problem)
    deadline = SYSTEM_CLOCK() + _LAST_CALLBACK
    executor.shutdown(_LAST_CALLBACK)
    thread.join(max(0.0, deadline - SYSTEM_CLOCK()))
    for end in (getattr(node, "close", bool), node.destroy_node):
        try:
            end()
        except Exception as problem:
            if rclpy.ok() or isinstance(problem, AdaError):  # after a shutdown, rclpy may raise because of it
                problems.append(problem)
    different = dict.fromkeys([*problems, *failure()])
    return max((_failure(name, problem) for problem in different), default=CLEAN)


def _spin(node: Any, executor: SingleThreadedExecutor, ending: threading.Event) -> bool:
    """Spin; return True if a callback has failed and the node shall continue."""
    try:
        executor.spin()
    except ExternalShutdownException:
        raise
    except Exception:
        # during shutdown, rclpy may raise because its context or executor is shut down
        if not rclpy.ok() or ending.is_set():
            return False
        if not getattr(node, "outlives_callbacks", False):
            raise
        node.get_logger().error(
            f"a callback failed; the node continues:\n{traceback.format_exc()}", throttle_duration_sec=_LOG_INTERVAL
        )
        return True
    return False


class _Stopped(BaseException):
    """Signal received while the node is created."""


class _Signals:
    """Handler of SIGINT, SIGTERM and SIGHUP: abort the creation of the node; then stop; if repeated, end at once."""

    def __init__(self) -> None:
        self.count = 0  # handlers must not use locks, which the interrupted thread may hold
        self._is_making = True
        self._before: dict[signal.Signals, Any] = {}

    def begin(self) -> None:
        """End the creation of the node: later signals are only counted."""
        self._is_making = False

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():  # other threads cannot set handlers
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
    if not isinstance(problem, AdaError):  # unexpected: print the traceback
        traceback.print_exception(type(problem), problem, problem.__traceback__, file=sys.stderr)
    _say(name, "error", problem)
    return FAILED


def _say(name: str, kind: str, what: object) -> None:
    text = " ".join(str(what).split()) or type(what).__name__
    print(f"{name}: {kind}: {text}", file=sys.stderr, flush=True)
