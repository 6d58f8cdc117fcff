# SPDX-License-Identifier: Apache-2.0
"""A page in the browser, and the one thread that changes what it shows.

Clicks and sliders arrive on threads of the web server. They only leave a note; `Page.run` acts on the notes, 30 times
a second, on the thread that called it. So nothing that belongs to the robot needs a lock.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.extras import how_to_install
from ada_tools.browser.door import VARIABLE, Door

HOST, PORT = "127.0.0.1", 8080
RATE = 30.0  # frames per second
_PORTS_TRIED = 100
_LAST_PORT = 65535
_SAME = 1e-6  # [deg, m, s] less is not worth a message


class Page:
    """A web server with one page: a 3D scene and controls beside it.

    Attributes:
        server: viser's.
        host: that it listens on.
        port: likewise.
        door: who may come in.
        gui: viser's, for controls.
        scene: viser's.
        clock: of all that is on the page.
        guard: why a browser, by its number, may move nothing; "" where it may. Of pages of real robots.

    Example::

        with Page("pa10") as page:
            button = page.gui.add_button("stop")
            page.when(button, page.end)
            page.run()
    """

    def __init__(
        self,
        title: str,
        host: str = HOST,
        port: int = PORT,
        *,
        server: Any = None,
        clock: Clock = SYSTEM_CLOCK,
        rate: float = RATE,
    ) -> None:
        """Start the server.

        Args:
            title: shown above the controls.
            host: address to listen on; 127.0.0.1 is seen from this machine alone; any other one needs a token, which
                is drawn by lot, or taken from the environment (ADA_VIEW_TOKEN).
            port: to listen on; 0 takes any free one.
            server: one of viser's that listens already; its page needs no token.
            clock: of all that is on the page.
            rate: frames per second.

        Raises:
            InputError: viser is not installed, or host, port or token are not to be had.
        """
        self.clock, self._rate = clock, rate
        if server is None:
            _refuse_taken(host, port)
        self.door = Door(host)
        self.server = _started(self.door, title, host, port) if server is None else server
        self.host, self.port = host, int(self.server.get_port())
        self._notes: dict[object, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_open = True
        self.guard: Callable[[int], str] = lambda browser: ""
        if server is None and port and self.port != port:  # taken between the look and the start
            self.close()
            raise InputError(_taken(host, port))
        self.gui, self.scene = self.server.gui, self.server.scene
        self.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
        self.gui.main_panel.dock_right()

    def clear(self) -> None:
        """Take all controls away, and forget what was noted of them."""
        with self._lock:
            self._notes.clear()
        self.gui.reset()
        self.gui.main_panel.dock_right()

    def look(self) -> None:
        """Move the cameras of all browsers to the start view."""
        first = self.server.initial_camera
        for client in self.server.get_clients().values():
            with client.atomic():
                client.camera.position = first.position
                client.camera.look_at = first.look_at

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Address of the page, with its token."""
        return self._address(self.door.token)

    @property
    def shown_url(self) -> str:
        """Address to print: a token from the environment is known, and stays out of logs."""
        return self._address(f"${VARIABLE}" if self.door.is_given else self.door.token)

    def _address(self, token: str) -> str:
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(self.host, self.host)
        return f"http://{shown}:{self.port}" + (f"/?token={token}" if token else "")

    @property
    def is_looked_at(self) -> bool:
        """True while a browser has it open."""
        return bool(self.server.get_clients())

    def when(self, control: Any, action: Callable[[], None], *, moves: bool = False) -> None:
        """Act on a click on a button, or on a new value of another control, given by a person.

        Of values that arrive faster than they are acted on, the last one counts.

        Args:
            control: what viser's `gui.add_...` returned.
            action: called by `run`; it reads the control's value itself.
            moves: it may move a robot: a browser that `guard` refuses gets the reason, and the value is taken back.
        """
        is_button = hasattr(control, "on_click")
        taken = [control.value]

        async def noted(event: Any) -> None:  # awaited in the order of arrival, unlike functions
            if moves and event.client is not None and self.refuses(event):
                if not is_button:
                    control.value = taken[0]
                return
            taken[0] = control.value
            if event.client is not None:
                self.note(id(control), action)

        listen = control.on_click if is_button else control.on_update
        listen(noted)

    def refuses(self, event: Any) -> bool:
        """True if the guard refuses the browser of an event of viser's; the browser gets the reason."""
        why = self.guard(event.client_id)
        if why and event.client is not None:
            event.client.add_notification("ada", why, auto_close_seconds=8.0)
        return bool(why)

    def note(self, key: object, action: Callable[[], None]) -> None:
        """Leave an action for `run`, from any thread; it takes the place of one left before under the same key."""
        with self._lock:
            self._notes.pop(key, None)
            self._notes[key] = action

    def say(self, text: str) -> None:
        """Show a message to all browsers."""
        for client in self.server.get_clients().values():
            client.add_notification("ada", text, auto_close_seconds=8.0)

    def run(self, tick: Callable[[], None] | None = None, duration: float | None = None) -> None:
        """Act on notes, and call a function once a frame, until `end`, Ctrl-C or the duration.

        Args:
            tick: called once a frame.
            duration: [s]; without one it goes on.
        """
        begin = due = self.clock.now()
        with contextlib.suppress(KeyboardInterrupt):
            while not self._ended.is_set() and (duration is None or self.clock.now() - begin < duration):
                self.act()
                if tick:
                    tick()
                due = max(due + 1.0 / self._rate, self.clock.now())
                self.clock.wait(self._ended, due - self.clock.now())

    def act(self) -> None:
        """Do what was noted until now, but for what an action before it cleared."""
        with self._lock:
            keys = list(self._notes)
        for key in keys:
            with self._lock:
                action = self._notes.pop(key, None)
            try:
                if action is not None:
                    action()
            except AdaError as problem:
                self.say(str(problem))

    def end(self) -> None:
        """Let `run` return; from any thread."""
        self._ended.set()

    def close(self) -> None:
        """Stop the server and its threads."""
        self._ended.set()
        if self._is_open:
            self._is_open = False
            with _silent():
                self.server.stop()

    def invite(self, opens_browser: bool, how_to_end: str = "Ctrl-C ends") -> None:
        """Print the address, and open it where there is a screen."""
        print(f"view: {self.shown_url}   ({how_to_end})", flush=True)
        if opens_browser and has_screen():
            webbrowser.open(self.url)


def serve(
    title: str,
    make: Callable[[Page], Any],
    *,
    host: str = HOST,
    port: int = PORT,
    open_browser: bool = True,
    duration: float | None = None,
    on_start: Callable[[Any], None] | None = None,
) -> None:
    """Serve a page until Ctrl-C, or for some seconds.

    Args:
        title: above the controls.
        make: makes what is shown; its method `tick`, if it has one, is called once a frame.
        host: address to listen on.
        port: to listen on; 0 takes any free one.
        open_browser: open the page, where there is a screen.
        duration: [s] on the wall's clock; without one it goes on.
        on_start: called with what is shown before it runs.

    Raises:
        InputError: viser is not installed, or host or port are not to be had.
    """
    with Page(title, host, port) as page:
        shown = make(page)
        if on_start:
            on_start(shown)
        page.invite(open_browser)
        page.run(getattr(shown, "tick", None), duration)


def nearest_free(host: str, port: int) -> int:
    """The port itself, or the next one that is free; the port where none is, or where the host is no address."""
    if not 0 < port <= _LAST_PORT:
        return port
    with contextlib.suppress(OSError):
        return next((p for p in _next_ports(port) if _why_not(host, p) is None), port)
    return port


class SharedNumber:
    """A slider that the program moves, too, without overwriting a new value of a person that is not read yet.

    Digits of a number that is typed arrive one by one: an answer to the first must not take the place of the second.
    """

    def __init__(self, control: Any) -> None:
        """Args: a slider of viser's."""
        self.control = control
        self._known = float(control.value)

    def read(self) -> float:
        """The newest value, of a person or of the program."""
        self._known = float(self.control.value)
        return self._known

    def show(self, value: float) -> None:
        """Move it, within its range, unless there is something to be read."""
        if float(self.control.value) != self._known:
            return
        value = float(min(max(value, self.control.min), self.control.max))
        if abs(value - self._known) > _SAME:
            self._known = self.control.value = value


def _viser() -> Any:
    try:
        with _silent():
            import viser
    except ImportError:
        raise InputError(f"the browser view needs viser: {how_to_install('view')}") from None
    return viser


def _started(door: Door, title: str, host: str, port: int) -> Any:
    """A server of viser's behind a door."""
    viser = _viser()
    with _silent(), contextlib.ExitStack() as undone:  # a page without its door must not stay open
        with door.hung():
            server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
            undone.callback(server.stop)
        undone.pop_all()
    return server


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """viser greets and takes its leave on the standard output, which belongs to the command."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _refuse_taken(host: str, port: int) -> None:
    if not 0 <= port <= _LAST_PORT:
        raise InputError(f"port {port}: it must be from 1 to {_LAST_PORT}, or 0 for any free one.")
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise InputError(f"host {host!r} is no address: {problem}. Give 127.0.0.1 or 0.0.0.0.") from None
    problem_found = _why_not(host, port)
    if problem_found is None:
        return
    if _why_not(host, 0) is not None:
        raise InputError(
            f"host {host}: this machine cannot listen there ({problem_found}). "
            "Give 127.0.0.1, or 0.0.0.0 for all of its addresses."
        )
    raise InputError(_taken(host, port, problem_found))


def _why_not(host: str, port: int) -> str | None:
    """Why this machine cannot listen there; None if it can."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    try:
        with socket.socket(family, kind, protocol) as trial:
            # As the server does it: a port that only waits for its last packets counts as free.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
            trial.listen(1)
    except OSError as problem:
        return str(problem.strerror or problem)
    return None


def _taken(host: str, port: int, problem: str = "Address already in use") -> str:
    free = next((p for p in _next_ports(port + 1) if _why_not(host, p) is None), 0)
    choice = f"Choose another one: --port {free}, or port:={free} of the node."
    return f"port {port} of {host} cannot be used: {problem}. {choice}"


def _next_ports(port: int) -> range:
    return range(port, min(port + _PORTS_TRIED, _LAST_PORT + 1))


def has_screen() -> bool:
    """True if a browser could show anything: else a text browser might take the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
