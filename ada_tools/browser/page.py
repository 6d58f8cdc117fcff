# SPDX-License-Identifier: Apache-2.0
"""Browser page, and the single thread that updates it.

Callbacks of clicks and sliders arrive on threads of the web server and only queue actions; `Page.run` executes them 30
times per second on the calling thread. Robot data therefore needs no lock.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import os
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.resources import how_to_install
from ada_tools.browser.access_control import VARIABLE, AccessControl

_LOG = logging.getLogger(__name__)

HOST, PORT = "127.0.0.1", 8080
RATE = 30.0  # frames per second
_LAST_PORT = 65535
_NARROW, _FREE = 600, 0.4  # [px] a sheet with the controls leaves the upper part of a narrower window free
_VIEW_ANGLE = 0.75  # [rad] vertical
_SAME_SHAPE = 0.02  # smaller relative changes of the scene's aspect ratio do not move the camera
_SKY, _HORIZON = np.array([205.0, 217.0, 229.0]), np.array([244.0, 246.0, 248.0])
_SHADES = 128  # rows of the background
_PICTURE = 1080  # [px] height of a screenshot
LINE = 1.45  # line height in font sizes
_LAST_FRAME = 5.0  # [s] timeout at the end
_BOX = (
    '<div style="height:{height:.2f}em;line-height:{line};overflow-y:auto;margin:0 0.8em 0.4em 0.8em;font-size:0.9em;'
    'color:{colour}">{text}</div>'
)
_FRAME = '<iframe src="{url}" style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>'
_LINK = '<a href="{url}" target="_blank">open the page</a>'
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
        height: height of its frame in a notebook [px].
        guard: reason why a client (by number) may not move robots, or ""; set on pages of real robots.
        failure: unexpected exception of a page in the background; None without one.

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
            port: port to listen on, or the next free one; 0 selects any free one.
            server: running viser server; its page needs no token.
            clock: clock of everything on the page.
            rate: frames per second.

        Raises:
            InputError: viser is not installed, or the host, port or token is invalid.
        """
        self.clock, self._rate = clock, rate
        if server is None:
            _check_address(host, port)
        self.access = AccessControl(host)
        self.server = _started(self.access, title, host, port) if server is None else server
        self.host, self.port = host, int(self.server.get_port())
        self._taken = f"port {port} is in use; " if port and server is None and self.port != port else ""
        self._notes: dict[object, Callable[[], None]] = {}
        self._commands: list[Any] = []
        self._fitted: dict[int, float] = {}  # half angle of view that the camera of a client is fitted to
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_open = True
        self.height = 480
        self._thread: threading.Thread | None = None
        self.failure: Exception | None = None
        self.guard: Callable[[int], str] = lambda browser: ""
        self.gui, self.scene = self.server.gui, self.server.scene
        self._dress()

    def _dress(self) -> None:
        """Set up the theme, the background, the light and the camera."""
        self.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        self.gui.main_panel.dock_right()
        rise = np.linspace(0.0, 1.0, _SHADES)[:, np.newaxis, np.newaxis]
        self.scene.set_background_image(np.round(_SKY + rise * (_HORIZON - _SKY)).astype(np.uint8), format="png")
        self.server.initial_camera.fov = _VIEW_ANGLE
        self.server.on_client_connect(self._welcome)

    async def _welcome(self, client: Any) -> None:
        """Show the initial view, and keep the robot in the part of the window that the panel leaves free."""
        self._aim(client)

        async def fit(_: Any) -> None:
            camera, wanted = client.camera, _half_angle(client.camera)
            fitted = self._fitted[client.client_id]
            if abs(wanted / fitted - 1.0) > _SAME_SHAPE:
                offset = np.asarray(camera.position) - np.asarray(camera.look_at)
                camera.position = np.asarray(camera.look_at) + math.sin(fitted) / math.sin(wanted) * offset
                self._fitted[client.client_id] = wanted

        client.camera.on_update(fit)

    def _aim(self, client: Any) -> None:
        """Set the camera of a browser to the initial view."""
        first, camera = self.server.initial_camera, client.camera
        self._fitted[client.client_id] = _half_angle(camera)
        away = np.asarray(first.position) - np.asarray(first.look_at)
        away *= math.sin(0.5 * _VIEW_ANGLE) / math.sin(_half_angle(camera))
        centre = np.asarray(first.look_at)
        if camera.image_width < _NARROW:  # above the sheet with the controls
            up = np.cross(np.cross(away, (0.0, 0.0, 1.0)), away)
            up *= np.linalg.norm(away) / max(float(np.linalg.norm(up)), 1e-12)
            centre = centre - (1.0 - _FREE) * math.tan(0.5 * _VIEW_ANGLE) * up
        with client.atomic():
            camera.position, camera.look_at = centre + away, centre

    def clear(self) -> None:
        """Remove all controls and discard their queued actions."""
        with self._lock:
            self._notes.clear()
        for command in self._commands:
            command.remove()
        self._commands.clear()
        self.gui.reset()
        self.gui.main_panel.dock_right()

    def look(self) -> None:
        """Reset the cameras of all browsers to the initial view."""
        for client in self.server.get_clients().values():
            self._aim(client)

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

    def add_row(self, label: str, actions: Mapping[str, Callable[[], None]]) -> Any:
        """Add a row of buttons, given by their texts and actions."""
        row = self.gui.add_button_group(label, tuple(actions))

        async def pressed(event: Any) -> None:
            self.note((label, row.value), actions[str(row.value)])

        row.on_click(pressed)
        return row

    def add_key(self, label: str, key: Any, action: Callable[[], None]) -> None:
        """Run an action when a user presses a key, or selects it in the list of commands (Ctrl-K)."""
        command = self.gui.add_command(label, hotkey=key)

        async def pressed(event: Any) -> None:
            self.note(label, action)

        command.on_trigger(pressed)
        self._commands.append(command)

    def add_screenshot(self) -> None:
        """Add a button that downloads a picture of the scene."""

        def take(event: Any) -> None:  # a function runs on a thread of its own, which may wait for the browser
            import imageio.v3

            width = round(_PICTURE * event.client.camera.aspect)  # the background covers only the shape of the window
            picture = event.client.get_render(_PICTURE, width, transport_format="png")
            content = imageio.v3.imwrite("<bytes>", picture, extension=".png")
            event.client.send_file_download("robot.png", content)

        self.gui.add_button("screenshot", icon="camera").on_click(take)

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
        """Run queued actions and a per-frame callback until `end`, Ctrl-C or the duration [s]."""
        begin = due = self.clock.now()
        with contextlib.suppress(KeyboardInterrupt):
            while not self._ended.is_set() and (duration is None or self.clock.now() - begin < duration):
                self.act()
                if tick:
                    tick()
                due = max(due + 1.0 / self._rate, self.clock.now())
                self.clock.wait(self._ended, due - self.clock.now())

    def start(self, tick: Callable[[], None] | None = None) -> None:
        """Run in a background thread until `close`, or the end of the program."""

        def run() -> None:
            try:
                self.run(tick)
            except Exception as problem:
                _LOG.exception("the page has stopped")
                self.failure = problem

        # A daemon thread never keeps the process alive.
        self._thread = threading.Thread(target=run, name="page", daemon=True)
        self._thread.start()

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
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_LAST_FRAME)
        if self._is_open:
            self._is_open = False
            with _silent():
                self.server.stop()

    def __repr__(self) -> str:
        return f"<page at {self.shown_url}; close() ends it>"

    def _repr_html_(self) -> str:
        # Browsers block cookies of cross-site frames, and a token is stored in one: show a link instead.
        return (_LINK if self.access.token else _FRAME).format(url=self.url, height=self.height)

    def invite(self, opens_browser: bool, how_to_end: str = "Ctrl-C ends") -> None:
        """Print the address, and open it if a display is available."""
        print(f"view: {self.shown_url}   ({self._taken}{how_to_end})", flush=True)
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
    is_background: bool = False,
    height: int | None = None,
) -> Page:
    """Serve a page until Ctrl-C or for a given duration, or return it while a background thread serves it.

    Args:
        title: title above the controls.
        make: creates the content; its method `tick`, if any, is called once per frame.
        host: address to listen on.
        port: port to listen on, or the next free one; 0 selects any free one.
        open_browser: open the page if a display is available; not in a notebook, which displays the page itself.
        duration: [s] of real time; unlimited by default.
        on_start: called with the content before the first frame.
        is_background: serve until `close()` or the end of the program.
        height: height of the frame in a notebook [px].

    Raises:
        InputError: viser is not installed, or the host or port is not available.
    """
    with contextlib.ExitStack() as ended:
        page = ended.enter_context(Page(title, host, port))
        page.height = height or page.height
        shown = make(page)
        if on_start:
            on_start(shown)
        tick = getattr(shown, "tick", None)
        if is_background:
            page.start(tick)
            ended.pop_all()
            if not _is_notebook():
                page.invite(open_browser, "close() ends it")
        else:
            page.invite(open_browser)
            page.run(tick, duration)
    return page


class TextBox:
    """Text box of fixed height; longer text is scrolled."""

    def __init__(self, gui: Any, lines: int) -> None:
        """Add a box of so many lines to the current section of the page."""
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


def _check_address(host: str, port: int) -> None:
    """Raise InputError if this machine cannot listen on an address."""
    if not 0 <= port <= _LAST_PORT:
        raise InputError(f"port {port}: it must be from 1 to {_LAST_PORT}, or 0 for any free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(address)
    except OSError as problem:
        raise InputError(
            f"host {host!r}: this machine cannot listen there ({problem.strerror or problem}). "
            "Give 127.0.0.1, or 0.0.0.0 for all of its addresses."
        ) from None


def _half_angle(camera: Any) -> float:
    """Half of the angle of view in the narrower direction of the free part of a window."""
    free = _FREE if camera.image_width < _NARROW else 1.0
    return math.atan(math.tan(0.5 * _VIEW_ANGLE) * min(free, camera.aspect))


def has_screen() -> bool:
    """Return True if a graphical browser can open; a text browser would occupy the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _is_notebook() -> bool:
    """Return True in a Jupyter kernel, which displays returned objects."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None
