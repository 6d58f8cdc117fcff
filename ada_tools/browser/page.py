# SPDX-License-Identifier: Apache-2.0
"""Browser page, and the single thread that updates it.

Callbacks of clicks and sliders arrive on threads of the web server and only queue actions; `Page.run` executes them 30
times per second on the calling thread. Robot data therefore needs no lock.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.resources import how_to_install
from ada_tools.browser.access_control import VARIABLE, AccessControl

HOST, PORT = "127.0.0.1", 8080
RATE = 30.0  # frames per second
_PORTS_TRIED = 100
_LAST_PORT = 65535
_SAME = 1e-6  # [deg, m, s] smaller changes are not sent
LINE = 1.45  # line height in font sizes
_BOX = (
    '<div style="height:{height:.2f}em;line-height:{line};overflow-y:auto;margin:0 0.8em 0.4em 0.8em;font-size:0.9em;'
    'color:{colour}">{text}</div>'
)
_BOLD = re.compile(r"\*\*(.+?)\*\*")


class Page:
    """Web server with one page: a 3D scene and controls.

    Attributes:
        server: viser server.
        host: host that it listens on.
        port: port that it listens on.
        access: access control.
        gui: viser GUI.
        scene: viser scene.
        clock: clock of everything on the page.
        guard: reason why a client (by number) may not move robots, or ""; set on pages of real robots.

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
            title: title above the controls.
            host: address to listen on; 127.0.0.1 is reachable from this machine only. Any other address requires a
                token, random or from the environment (ADA_VIEW_TOKEN).
            port: port to listen on; 0 selects a free one.
            server: running viser server; its page needs no token.
            clock: clock of everything on the page.
            rate: frames per second.

        Raises:
            InputError: viser is not installed, or the host, port or token is invalid.
        """
        self.clock, self._rate = clock, rate
        if server is None:
            _refuse_taken(host, port)
        self.access = AccessControl(host)
        self.server = _started(self.access, title, host, port) if server is None else server
        self.host, self.port = host, int(self.server.get_port())
        self._notes: dict[object, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_open = True
        self.guard: Callable[[int], str] = lambda browser: ""
        if server is None and port and self.port != port:  # port taken between the check and the start
            self.close()
            raise InputError(_taken(host, port))
        self.gui, self.scene = self.server.gui, self.server.scene
        self.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
        self.gui.main_panel.dock_right()

    def clear(self) -> None:
        """Remove all controls and discard their queued actions."""
        with self._lock:
            self._notes.clear()
        self.gui.reset()
        self.gui.main_panel.dock_right()

    def look(self) -> None:
        """Reset the cameras of all browsers to the initial view."""
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
        return self._address(self.access.token)

    @property
    def shown_url(self) -> str:
        """Address for printing; a token from the environment is shown as the variable name, not in clear text."""
        return self._address(f"${VARIABLE}" if self.access.is_given else self.access.token)

    def _address(self, token: str) -> str:
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(self.host, self.host)
        return f"http://{shown}:{self.port}" + (f"/?token={token}" if token else "")

    @property
    def is_looked_at(self) -> bool:
        """Return True while a browser shows the page."""
        return bool(self.server.get_clients())

    def when(self, control: Any, action: Callable[[], None], *, moves: bool = False) -> None:
        """Run an action when a user clicks a button or changes the value of another control.

        If values arrive faster than they are processed, only the last one counts.

        Args:
            control: control returned by a `gui.add_...` method of viser.
            action: called by `run`; it reads the value of the control.
            moves: the action may move a robot; a client refused by `guard` gets the reason, and its value is reverted.
        """
        is_button = hasattr(control, "on_click")
        taken = [control.value]

        async def noted(event: Any) -> None:  # coroutines run in the order of arrival, unlike functions
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
        """Return True if the guard refuses the client of a viser event; the client is shown the reason."""
        why = self.guard(event.client_id)
        if why and event.client is not None:
            event.client.add_notification("ada", why, auto_close_seconds=8.0)
        return bool(why)

    def note(self, key: object, action: Callable[[], None]) -> None:
        """Queue an action for `run`, from any thread; it replaces a queued action with the same key."""
        with self._lock:
            self._notes.pop(key, None)
            self._notes[key] = action

    def say(self, text: str) -> None:
        """Show a message in all browsers."""
        for client in self.server.get_clients().values():
            client.add_notification("ada", text, auto_close_seconds=8.0)

    def run(self, tick: Callable[[], None] | None = None, duration: float | None = None) -> None:
        """Run queued actions and a per-frame callback until `end`, Ctrl-C or the duration.

        Args:
            tick: per-frame callback.
            duration: [s]; unlimited by default.
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
        """Run the queued actions; an action may cancel later ones by clearing the page."""
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
        """Make `run` return; may be called from any thread."""
        self._ended.set()

    def close(self) -> None:
        """Stop the server and its threads."""
        self._ended.set()
        if self._is_open:
            self._is_open = False
            with _silent():
                self.server.stop()

    def invite(self, opens_browser: bool, how_to_end: str = "Ctrl-C ends") -> None:
        """Print the address, and open it if a display is available."""
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
    """Serve a page until Ctrl-C or for a given duration.

    Args:
        title: title above the controls.
        make: creates the content; its method `tick`, if any, is called once per frame.
        host: address to listen on.
        port: port to listen on; 0 selects a free one.
        open_browser: open the page if a display is available.
        duration: [s] of real time; unlimited by default.
        on_start: called with the content before the first frame.

    Raises:
        InputError: viser is not installed, or the host or port is not available.
    """
    with Page(title, host, port) as page:
        shown = make(page)
        if on_start:
            on_start(shown)
        page.invite(open_browser)
        page.run(getattr(shown, "tick", None), duration)


def nearest_free(host: str, port: int) -> int:
    """The port, or the next free one; unchanged if none is free or the host is invalid."""
    if not 0 < port <= _LAST_PORT:
        return port
    with contextlib.suppress(OSError):
        return next((p for p in _next_ports(port) if _port_problem(host, p) is None), port)
    return port


class SharedNumber:
    """Slider set by both the program and the user; a new user value is never overwritten before it is read.

    Typed digits arrive one by one: a reply to the first digit must not replace the second.
    """

    def __init__(self, control: Any) -> None:
        """Args: viser slider."""
        self.control = control
        self._known = float(control.value)

    def read(self) -> float:
        """Current value."""
        self._known = float(self.control.value)
        return self._known

    def show(self, value: float) -> None:
        """Set the value, clipped to the slider range, unless a user value is unread."""
        if float(self.control.value) != self._known:
            return
        value = float(min(max(value, self.control.min), self.control.max))
        if abs(value - self._known) > _SAME:
            self._known = self.control.value = value


class TextBox:
    """Text box of fixed height; longer text is scrolled."""

    def __init__(self, gui: Any, lines: int) -> None:
        """Add the box to the current section of the page.

        Args:
            gui: viser GUI.
            lines: number of visible lines.
        """
        self._lines, self._text, self._colour = lines, "", "inherit"
        self._html = gui.add_html(self._render())

    @property
    def content(self) -> str:
        """Displayed text; **stars** mark bold text, an empty line ends a paragraph."""
        return self._text

    @content.setter
    def content(self, text: str) -> None:
        self.show(text)

    def show(self, text: str, colour: str = "inherit") -> None:
        """Show a text in a CSS colour."""
        if (text, colour) != (self._text, self._colour):
            self._text, self._colour = text, colour
            self._html.content = self._render()

    def _render(self) -> str:
        text = _BOLD.sub(r"<b>\1</b>", escape(self._text)).replace("\n\n", "<br>")
        return _BOX.format(height=LINE * self._lines, line=LINE, colour=self._colour, text=text)


def _viser() -> Any:
    try:
        with _silent():
            import viser
    except ImportError:
        raise InputError(f"the browser view needs viser: {how_to_install('view')}") from None
    return viser


def _started(access: AccessControl, title: str, host: str, port: int) -> Any:
    """Start a viser server with access control."""
    viser = _viser()
    with _silent(), contextlib.ExitStack() as undone:  # stop a server that lacks access control
        with access.installed():
            server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
            undone.callback(server.stop)
        undone.pop_all()
    return server


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress the messages that viser prints to the standard output of the command."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _refuse_taken(host: str, port: int) -> None:
    if not 0 <= port <= _LAST_PORT:
        raise InputError(f"port {port}: it must be from 1 to {_LAST_PORT}, or 0 for any free one.")
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise InputError(f"host {host!r} is not a valid address: {problem}. Give 127.0.0.1 or 0.0.0.0.") from None
    problem_found = _port_problem(host, port)
    if problem_found is None:
        return
    if _port_problem(host, 0) is not None:
        raise InputError(
            f"host {host}: this machine cannot listen there ({problem_found}). "
            "Give 127.0.0.1, or 0.0.0.0 for all of its addresses."
        )
    raise InputError(_taken(host, port, problem_found))


def _port_problem(host: str, port: int) -> str | None:
    """Reason why this machine cannot listen on a port; None if it can."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    try:
        with socket.socket(family, kind, protocol) as trial:
            # Same option as the server: a port in TIME_WAIT counts as free.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
            trial.listen(1)
    except OSError as problem:
        return str(problem.strerror or problem)
    return None


def _taken(host: str, port: int, problem: str = "Address already in use") -> str:
    free = next((p for p in _next_ports(port + 1) if _port_problem(host, p) is None), 0)
    choice = f"Choose another one: --port {free}, or port:={free} of the node."
    return f"port {port} of {host} cannot be used: {problem}. {choice}"


def _next_ports(port: int) -> range:
    return range(port, min(port + _PORTS_TRIED, _LAST_PORT + 1))


def has_screen() -> bool:
    """Return True if a graphical browser can open; a text browser would occupy the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
