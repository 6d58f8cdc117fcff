# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 world for one test: a DDS domain that nobody else on this machine uses, nodes, and processes."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import rclpy
import waiting
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from ada_robot.ros.environment import child_environment
from benchmarks.ros.world import OTHER_NETWORKS

T = TypeVar("T")

POLL = 0.005  # [s]
LOST = 10.0  # [s] after which an answer is taken for lost
LIMIT = 120.0  # [s] for anything; only a failure waits for all of it
_MANY_THREADS = 60  # of this process


def overrides(parameters: Mapping[str, Any]) -> list[Parameter]:
    """Parameters of a node; in their names two underscores are a dot."""
    return [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]


def world_environment(domain: int, log_folder: Path) -> dict[str, str]:
    """Environment of processes in the world: its domain, this machine only, and no trace of other settings."""
    environment = {key: value for key, value in child_environment().items() if key not in OTHER_NETWORKS}
    environment.pop("FASTDDS_BUILTIN_TRANSPORTS", None)
    environment["ROS_DOMAIN_ID"] = str(domain)
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    environment["ROS_LOG_DIR"] = str(log_folder)
    environment["PYTHONUNBUFFERED"] = "1"
    environment["PYTHONFAULTHANDLER"] = "1"  # where a process crashes is part of its output
    return environment


class Process:
    """A process of a test, with its output (stdout and stderr together); the test's end kills it and its children."""

    def __init__(self, command: tuple[str, ...], environment: Mapping[str, str], cwd: Path | None = None) -> None:
        self.command = command
        # A job in the background of a script ignores SIGINT, and so would all its children: `env` gives it back.
        self._popen = subprocess.Popen(
            ["env", "--default-signal=INT,TERM,HUP,QUIT", *command],
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._chunks: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        pipe = self._popen.stdout
        assert pipe is not None
        with pipe:
            while chunk := os.read(pipe.fileno(), 65536):
                self._chunks.append(chunk)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def output(self) -> str:
        return b"".join(self._chunks).decode(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    def signal(self, number: int = signal.SIGINT) -> None:
        """Send a signal to the process, not to its children; after a SIGSTOP it has stopped."""
        self._popen.send_signal(number)
        if number == signal.SIGSTOP:  # on a busy machine it goes on for milliseconds
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def wait(self, limit: float = LIMIT) -> int:
        """Return the exit code (-n: ended by signal n) when the process ends; all of its output has been read then."""
        try:
            code = self._popen.wait(limit)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{' '.join(self.command)} did not end within {limit:g} s; it wrote:\n{self.output}")
        self._reader.join(1.0)  # a child of it may keep the pipe open
        return code

    def stop(self, limit: float = LIMIT) -> int:
        """Send SIGINT, as Ctrl-C does, and return the exit code."""
        if self.is_running:
            self.signal(signal.SIGINT)
        return self.wait(limit)

    def kill(self) -> int:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        return self.wait()


class Messages(list[Any]):
    """Messages of a topic in the order of their arrival; the list grows while the world spins."""

    def __init__(self, world: RosWorld, topic: str) -> None:
        super().__init__()
        self._world, self._topic = world, topic

    def newest(self, condition: Callable[[Any], Any] | None = None, what: str = "") -> Any:
        """Return the newest message, as soon as there is one and it fulfils the condition."""
        return self._until(lambda: self[-1:], condition, what)

    def next(self, condition: Callable[[Any], Any] | None = None, what: str = "") -> Any:
        """Return the first message that arrives after the call and fulfils the condition."""
        start = len(self)
        return self._until(lambda: self[start:], condition, what)

    def _until(self, candidates: Callable[[], list[Any]], condition: Callable[[Any], Any] | None, what: str) -> Any:
        def found() -> list[Any]:
            return [one for one in candidates() if condition is None or condition(one)]

        return self._world.wait(found, what=f"{what or 'a message'} on {self._topic}")[0]


def _collect_garbage() -> None:
    """Free destroyed contexts: each keeps ten threads and ten sockets until it is collected, which takes 0.2 s."""
    gc.unfreeze()
    tasks = Path("/proc/self/task")
    if not tasks.exists() or len(list(tasks.iterdir())) > _MANY_THREADS:
        gc.collect()


class RosWorld:
    """Nodes of this process and processes beside it on a DDS domain of their own."""

    def __init__(self, domain: int, environment: Mapping[str, str]) -> None:
        self.domain = domain
        self.environment = dict(environment)
        self.context = Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.failures: list[BaseException] = []
        self._nodes: list[Node] = []
        self._processes: list[Process] = []
        self._clients: dict[tuple[type, str], Any] = {}
        self._tester: Node | None = None
        self._is_closing = False
        self._may_spin = threading.Event()
        self._may_spin.set()
        self._spinning = threading.RLock()  # a callback may remove a node
        self._thread = threading.Thread(target=self._spin, name="ros_world", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._is_closing:
            try:
                with self._spinning:
                    self.executor.spin_once()
            except (ExternalShutdownException, ShutdownException):
                return
            except Exception as failure:
                if self.context.ok():
                    self.failures.append(failure)
            self._may_spin.wait()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Run no callback: rclpy fails where something is destroyed while it collects what to wait for."""
        self._may_spin.clear()
        try:
            self.executor.create_task(_nothing)  # so that it returns from its wait
            if not self._spinning.acquire(timeout=LIMIT):
                pytest.fail("the executor of the test's nodes does not pause: a callback blocks")
            try:
                yield
            finally:
                self._spinning.release()
        finally:
            self._may_spin.set()

    def node(self, name: str = "tester", **options: Any) -> Node:
        return self.add(Node(name, context=self.context, **options))

    def add(self, node: Any) -> Any:
        """Spin a node that was made with `context=ros.context`; it is closed and destroyed at the end of the test."""
        self._nodes.append(node)
        self.executor.add_node(node)
        return node

    def make(self, kind: Callable[..., Any], parameters: Mapping[str, Any], **options: Any) -> Any:
        """Make a node of some kind with its parameters, and spin it."""
        return self.add(kind(context=self.context, parameter_overrides=overrides(parameters), **options))

    def remove(self, node: Any) -> None:
        """Close and destroy a node before the end of the test."""
        self._nodes.remove(node)
        try:
            with self.paused():
                self.executor.remove_node(node)
                close = getattr(node, "close", None)
                if close is not None:
                    close()
        finally:
            with self.paused():
                node.destroy_node()

    @property
    def tester(self) -> Node:
        """The node behind `collect`, `publisher` and `call`."""
        if self._tester is None:
            self._tester = self.node("tester", enable_rosout=False, start_parameter_services=False)
        return self._tester

    def collect(self, kind: Any, topic: str, qos: Any = 10, **options: Any) -> Messages:
        messages = Messages(self, topic)
        self.tester.create_subscription(kind, topic, messages.append, qos, **options)
        return messages

    def publisher(self, kind: Any, topic: str, qos: Any = 10) -> Any:
        return self.tester.create_publisher(kind, topic, qos)

    def matched(self, publisher: Any, count: int = 1) -> Any:
        """Return a publisher when so many subscribers are connected."""
        what = f"{count} subscriber(s) of {publisher.topic_name}"
        self.wait(lambda: publisher.get_subscription_count() >= count, what=what)
        return publisher

    def call(self, kind: Any, service: str, request: Any = None) -> Any:
        client = self._clients.get((kind, service))
        if client is None:
            client = self._clients[kind, service] = self.tester.create_client(kind, service)
        self.wait(client.service_is_ready, what=f"service {service}")
        asked = kind.Request() if request is None else request
        return self.answer(lambda: client.call_async(asked), f"an answer of service {service}")

    def answer(self, ask: Callable[[], Any], what: str = "an answer") -> Any:
        """Return the first result of futures; `ask` makes one, and another one where none is done for 10 s."""
        futures: list[Any] = []
        asked = -math.inf

        def answered() -> Any:
            nonlocal asked
            if time.monotonic() - asked > LOST:
                asked = time.monotonic()
                futures.append(ask())
            return next((future for future in futures if future.done()), None)

        return self.wait(answered, what=what).result()

    def wait(self, condition: Callable[[], T], timeout: float = LIMIT, what: str = "a condition") -> T:
        """Return the first true value of a condition; fail where a callback fails meanwhile, or after the limit [s]."""

        def checked() -> T:
            found = condition()
            if not found and self.failures:
                failure = self.failures.pop(0)
                raise AssertionError(f"a callback failed while waiting for {what}: {failure!r}") from failure
            return found

        return waiting.until(checked, what, timeout, POLL, self._outputs)

    def _outputs(self) -> str:
        return "".join(f"\n--- {' '.join(p.command)[:200]}\n{p.output[-3000:]}" for p in self._processes)

    def start(self, *command: Any, environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> Process:
        """Start a process in this world, with variables besides those of the world, in a folder."""
        process = Process(tuple(map(str, command)), {**self.environment, **(environment or {})}, cwd)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """Kill processes, destroy nodes, end the executor, shut the context down, each even if one before fails."""
        with contextlib.ExitStack() as last:
            last.callback(self.context.try_shutdown)
            last.callback(self._end_executor)
            for node in list(self._nodes):
                last.callback(self.remove, node)
            for process in self._processes:
                last.callback(process.kill)
        _collect_garbage()
        if self.failures:
            raise AssertionError(f"a callback failed: {self.failures[0]!r}") from self.failures[0]

    def _end_executor(self) -> None:
        self._is_closing = True
        self._may_spin.set()
        self.executor.create_task(_nothing)
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the executor of the test's nodes does not end: a callback blocks"
        self.executor.shutdown(5.0)


def _nothing() -> None:
    """What the executor is given to do so that it looks around."""
