# SPDX-License-Identifier: Apache-2.0
"""An emulated arm that is driven by a hardware node, or by a program: brought into a state, commanded all the while."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chromium import Person, browser_processes, chromium, signal_all
from hardware_world import Commander, call, life
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from processes import command_of, descendants
from ros_world import Process, RosWorld, world_environment
from std_srvs.srv import Trigger

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_hardware.emulation.process import EmulatorProcess
from benchmarks.ros.domains import own_domain

TESTS = Path(__file__).parents[1]
MOVES = [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # [rad/s]
RATE = 100.0  # [Hz] of commands
# A PA-10-7C, which forgives silence of 0.4 s: a busy machine does not keep the 10 ms of a PA10-7CE.
DEVICE = {"variant": "7c", "max_acceleration": 200.0}
DRIVER = {"variant": "7c", "device_timeout": 0.4, "period": 0.006, "reply_timeout": 0.0055, "command_timeout": 0.1}
DRIVER["start_timeout"] = 10.0
SAFETY = {"arm_within": 5.0, "hold_without_commands": True, "max_missed": 50, "max_following_error": 1.0}
_PATIENCE = 60.0  # [s]; a busy machine may be many times slower


class Spoiled(Exception):
    """The machine stood still, and something else came to pass than was meant."""


try:
    from selenium.common.exceptions import WebDriverException
except ImportError:  # there are no pages then
    WebDriverException = Spoiled


class Scene:
    """What all have in common."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.device = stack.enter_context(EmulatorProcess("outer.witness:WitnessedPa10", DEVICE))
        self.is_commanded = False

    def until(self, holds: Callable[[], Any], what: str, seconds: float = _PATIENCE, poll: float = 0.005) -> Any:
        deadline = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > deadline:
                raise Spoiled(f"not within {seconds:g} s: {what}")
            SYSTEM_CLOCK.sleep(poll)
        return found

    def told_ago(self) -> float:
        return time.monotonic() - float(self.device.state()["told_at"])

    def _moves_for(self, duration: float) -> None:
        begin = time.monotonic()
        self.until(
            lambda: float(self.device.state()["moved_at"]) > begin + duration, f"motion for {duration:g} s", 15.0
        )

    def _is_braked(self) -> bool:
        return set(self.device.state()["ways"]) == {"braked"}

    def moves(self) -> None:
        """Commands come, and it follows them for some time."""
        self.command(True)
        self.until(lambda: self.told_ago() < 0.05, "it moves", 15.0)
        self._moves_for(0.3)

    def holds(self) -> None:
        self.moves()
        self.command(False)
        self.until(lambda: self.told_ago() > 0.2, "the last command")

    def faults(self) -> None:
        """The arm's own emergency stop, pressed and let go."""
        self.moves()
        self.device.fault("emergency_stop", 1.0)
        self.until(lambda: self._is_braked() and self.told_ago() > 0.2, "closed brakes and the last command")
        self.device.fault("emergency_stop", 0.0)

    def command(self, on: bool) -> None:
        raise NotImplementedError

    def is_renewed(self) -> bool:
        """Bring it back to its first state, for another trial; False where something has ended for good."""
        self.command(False)
        for fault in ("emergency_stop", "disconnect"):
            self.device.fault(fault, 0.0)
        return True


class Nodes(Scene):
    """A hardware node, and perhaps a controller; commands come from another node, or from the controller."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        super().__init__(folder, stack)
        domain = stack.enter_context(own_domain())
        environment = world_environment(domain, folder / "log")
        paths = os.pathsep.join([str(TESTS), *(one for one in sys.path if one)])
        own = {"PYTHONPATH": paths, "XDG_STATE_HOME": str(folder), "ADA_DRAWING_PERIOD": "1"}  # browsers without a GPU
        self.ros = RosWorld(domain, {**environment, **own})
        stack.callback(self.ros.close)
        values = {f"driver.{name}": value for name, value in DRIVER.items()}
        values |= {f"safety.{name}": str(value).lower() for name, value in SAFETY.items()}
        words = [f"pa10.{name}:={value}" for name, value in values.items()]
        words += ["device:=pa10", f"url:={self.device.url}", "tf_rate:=0.0", "autostart:=unconfigured"]
        self.node = self.start("ada_hardware.node.hardware_node", *words)
        self.controller: Process | None = None
        self._commander: Commander | None = None  # from the first command on
        self._sending = threading.Lock()  # held while a command is sent
        self._ends = threading.Event()
        thread = threading.Thread(target=self._send, daemon=True)
        stack.callback(thread.join, 5.0)
        stack.callback(self._ends.set)
        thread.start()
        self.ask("cleanup")  # refused; but the service has been found then
        self.stop = self.ros.tester.create_client(Trigger, "hardware_node/stop")
        self.until(self.stop.service_is_ready, "the service ~/stop")

    def start(self, module: str, *parameters: str) -> Process:
        words = [word for one in parameters for word in ("-p", one)]
        return self.ros.start(sys.executable, "-m", module, "--ros-args", *words)

    def _send(self) -> None:
        while not self._ends.wait(1.0 / RATE):
            with self._sending:
                if self.is_commanded and self._commander is not None:
                    self._commander.send(velocity=MOVES)

    def command(self, on: bool) -> None:
        if on and self._commander is None:
            self._commander = Commander(self.ros)
        self.is_commanded = on

    def _forget_commander(self) -> None:
        """A page leaves an arm alone that somebody else may command."""
        with self._sending:
            self.is_commanded, commander, self._commander = False, self._commander, None
        if commander is not None:
            commander.end()

    def ask(self, name: str) -> bool:
        wanted = Transition(id=getattr(Transition, f"TRANSITION_{name.upper()}"))
        request = ChangeState.Request(transition=wanted)
        return bool(self.ros.call(ChangeState, "hardware_node/change_state", request).success)

    def becomes(self, state: str, by: str) -> None:
        """Ask for a transition until it has come about; an answer may be lost."""
        self.until(lambda: life(self.ros) == state or (self.ask(by) and life(self.ros) == state), by)

    def inactive(self) -> None:
        self.becomes("inactive", "configure")

    def active(self) -> None:
        self.inactive()
        self.becomes("active", "activate")

    def armed(self) -> None:
        self.active()
        if not call(self.ros, "arm").success:
            raise Spoiled("nobody armed it in time")

    def controlled(self) -> None:
        """A controller leads it to the far end of its first axis, no faster than it can follow."""
        from sensor_msgs.msg import JointState

        from ada_robot.ros import qos

        self.inactive()
        values = ("robot:=pa10_7c", "controller:=joint_trajectory", "state_timeout:=20.0", "max_gap:=20.0")
        slow = "joint_trajectory.speed_scale:=0.2"
        self.controller = self.start("ada_controllers.node.controller_node", *values, slow)
        goals = self.ros.matched(self.ros.publisher(JointState, "controller_node/joint_reference", qos.COMMANDS))

        def led() -> bool:
            if not call(self.ros, "arm").success:
                self.ask("activate")
            goals.publish(JointState(name=["s1"], position=[2.8]))
            return self.told_ago() < 0.05

        self.until(led, "the controller moves it", poll=0.2)
        self._moves_for(1.0)  # a motion that the arm does not follow has ended by then

    def is_renewed(self) -> bool:
        if not (self.node.is_running and self.controller is None and super().is_renewed()):
            return False
        call(self.ros, "stop")
        self.until(lambda: call(self.ros, "reset").success, "reset")
        for transition in ("deactivate", "cleanup"):
            self.ask(transition)
        return life(self.ros) == "unconfigured" and self.node.is_running

    @property
    def cycle(self) -> int:
        """Number of the process that the robot's cycle is in."""
        return next(pid for pid in descendants(self.node.pid) if "ada_robot.cycle" in command_of(pid))


class Guest(Person):
    """Who sits at the page of a node that is a process of its own."""

    def until(self, holds: Callable[[], Any], what: str, every: float = 0.02) -> None:
        deadline = time.monotonic() + 2.0 * _PATIENCE  # drawing without a GPU takes seconds
        while not holds():
            if time.monotonic() > deadline:
                raise Spoiled(f"not on the page: {what}")
            SYSTEM_CLOCK.sleep(every)


class Page(Nodes):
    """With a view node beside them, and a browser that has its page."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.browser = stack.enter_context(chromium(folder / "chromium"))  # first: where none is, nothing is begun
        stack.callback(self.everything, signal.SIGCONT)
        super().__init__(folder, stack)
        self.view = self.start("outer.view", "port:=0", "open_browser:=false", "plant:=hardware_node")
        address = self.until(lambda: re.search(r"view: (\S+)", self.view.output), "the address of the page")[1]
        self.browser.set_window_size(1000, 700)
        self.browser.switch_to.new_window("tab")  # one stays when it is closed
        self.guest = Guest(self.browser)
        self._tab = self.browser.current_window_handle
        self.browser.get(address)
        self._was_led = False
        self.shown()

    def shown(self, *words: str) -> None:

        def is_there() -> bool:
            text = self.guest.text()
            return all(word in text for word in ("STOP", "hold to move", *words)) and "made ready" not in text

        self.guest.until(is_there, "the panel")

    def inactive(self) -> None:
        """As the others, and the page has got over the robot, which takes seconds without a GPU."""
        super().inactive()
        self.guest.until(lambda: "Waiting for" not in self.guest.text(), "the robot")
        self.shown("pa10: joints")
        answers: list[float] = []

        def is_prompt() -> bool:
            asked = time.monotonic()
            self.guest.text()
            answers.append(time.monotonic() - asked)
            return len(answers) >= 20 and max(answers[-20:]) < 0.05

        self.guest.until(is_prompt, "it answers at once")

    def returns(self) -> None:
        self.guest.until(lambda: "robots move to their sliders" not in self.guest.text(), "the page goes on")
        self.shown()

    def led(self) -> None:
        """The page leads it to the far end of its first axis, while a button of it is held."""
        self._forget_commander()
        self.inactive()
        self._was_led = True
        for _ in range(5):
            self.becomes("active", "activate")
            with contextlib.suppress(Spoiled, WebDriverException):
                self.guest.types(1, 170)  # the first field is that of the speed
                SYSTEM_CLOCK.sleep(0.3)  # the page sends what was typed
                self.guest.presses("hold to move")
                self.until(lambda: self.told_ago() < 0.05, "the page moves it", 1.5)
                self._moves_for(0.3)
                return
            self.guest.lets_go()
        raise Spoiled("the page does not move it")

    def is_in_front(self, is_so: bool) -> None:
        """Whether it is this page that is seen, or another one."""
        if is_so:
            self.browser.switch_to.window(self._tab)
        else:
            self.browser.switch_to.new_window("tab")

    def _heard(self, act: Callable[[], object]) -> float:
        """When the page hears of what a person does [s]: without a GPU it may draw for long before it does."""
        self.browser.execute_script(
            "window.heard = 0; const hears = () => { window.heard ||= Date.now(); };"
            "for (const one of ['pointerdown', 'pointerup']) addEventListener(one, hears, true);"
            "addEventListener('keydown', one => { if (one.key === 'Escape') hears(); }, true);"
        )
        moved = self.told_ago() < 0.1
        act()
        heard = time.monotonic() - time.time() + self.browser.execute_script("return window.heard") / 1e3
        if moved and float(self.device.state()["told_at"]) < heard - 0.1:
            raise Spoiled("it came to rest before the page heard of it")
        return heard

    def stops(self) -> float:
        """A finger on the red button, whatever the mouse is at."""
        press = "dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}))"
        touch = f"document.querySelector('[data-stop=panel]').{press}"
        return self._heard(lambda: self.browser.execute_script(touch))

    def escapes(self) -> float:
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys

        return self._heard(ActionChains(self.browser).send_keys(Keys.ESCAPE).perform)

    def lets_go(self) -> float:
        return self._heard(self.guest.lets_go)

    def hangs(self) -> None:
        """The page does nothing, for as long as the arm is watched, and a little longer."""
        loop = "const end = Date.now() + 1300; while (Date.now() < end);"
        self.browser.execute_script(f"setTimeout(() => {{ {loop} }}, 0)")

    def everything(self, number: int) -> None:
        signal_all(browser_processes(self.browser), number)

    def network(self, number: int) -> None:
        """A signal to the process that the browser's connections are in."""
        signal_all([one for one in browser_processes(self.browser) if "NetworkService" in command_of(one)], number)

    def is_renewed(self) -> bool:
        return not self._was_led and self.view.is_running and super().is_renewed()


class Program(Scene):
    """A program with a `Robot`."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        super().__init__(folder, stack)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *(one for one in sys.path if one)])}
        command = ["env", "--default-signal=INT,TERM", sys.executable, "-m", "outer.program", self.device.url]
        self.process = subprocess.Popen(
            [*command, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        stack.callback(self._end)
        self.tell("hold")

    def _end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.communicate()

    def say(self, order: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{order}\n".encode())
            self.process.stdin.flush()

    def tell(self, order: str) -> None:
        """Say it, and wait until it has been done; answers to what was said before come first."""
        self.say(order)
        while (answer := self.process.stdout.readline().decode().strip()) != order:
            if not answer:
                raise Spoiled(f"the program ended before {order}")

    def command(self, on: bool) -> None:
        self.is_commanded = on
        self.say("move" if on else "hold")

    def is_renewed(self) -> bool:
        if self.process.poll() is not None or not super().is_renewed():
            return False
        self.tell("stop")
        self.until(self._is_braked, "closed brakes")
        self.tell("reset")
        return True

    def inactive(self) -> None:
        """As it is."""

    def active(self) -> None:
        self.tell("activate")

    def armed(self) -> None:
        self.active()
        self.tell("arm")
