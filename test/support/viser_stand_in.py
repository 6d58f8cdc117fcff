# SPDX-License-Identifier: Apache-2.0
"""A stand-in for viser in tests of pages, and a person who drags the handles of a target, without a browser."""

from __future__ import annotations

import contextlib
import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np

from ada_dynamics.spatial.orientation import to_quaternion
from ada_dynamics.spatial.rotation import from_rpy

SOMEBODY = 1  # number of the browser that has the page open


def finish(coroutine: Any) -> None:
    """Run a callback to its end; it waits for nothing."""
    with contextlib.suppress(StopIteration):
        coroutine.send(None)
        raise AssertionError("a callback waits")


class Handle:
    """A control or a node: the arguments that it was made with, as attributes; a later change is recorded."""

    def __init__(self, owner: Any, kind: str, **values: Any) -> None:
        object.__setattr__(self, "is_made", False)
        self.kind, self._owner, self.visible, self.callbacks = kind, owner, True, {}
        for name, value in values.items():
            setattr(self, name, value)
        self.is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if self.is_made and name != "is_made":
            self._owner.changes.append((self.kind, name))
            if name == "value":  # viser calls callbacks for values that the program sets, too
                self._call("update", None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None: ...

    def remove(self) -> None:
        self._owner.handles.remove(self)

    def _on(self, what: str) -> Any:
        return lambda callback: self.callbacks.setdefault(what, []).append(callback) or callback

    def on_update(self, callback: Any) -> Any:
        return self._on("update")(callback)

    def on_trigger(self, callback: Any) -> Any:
        return self._on("trigger")(callback)

    def _call(self, what: str, browser: int | None, **more: Any) -> None:
        client = None if browser is None else self._owner.server.clients.get(browser)
        for callback in self.callbacks.get(what, ()):
            finish(callback(SimpleNamespace(client=client, client_id=browser, target=self, **more)))

    def set(self, value: Any, browser: int = SOMEBODY) -> None:
        object.__setattr__(self, "value", value)
        self._call("update", browser)

    def trigger(self, browser: int = SOMEBODY) -> None:
        self._call("trigger", browser)

    def act(self, what: str, browser: int = SOMEBODY, **event: Any) -> None:
        """A browser sends another event: click, hold, drag or update."""
        self._call(what, browser, **event)


class Button(Handle):
    """What can be clicked: buttons, and nodes of the scene."""

    def on_click(self, callback: Any) -> Any:
        return self._on("click")(callback)

    def on_hold(self, callback: Any, callback_hz: float) -> Any:
        return self._on("hold")(callback)

    def on_drag(self, button: str) -> Any:
        return self._on("drag")

    def click(self, browser: int = SOMEBODY) -> None:
        self._call("click", browser)


class Panel(Handle):
    """A panel with tabs."""

    def add_tab(self, label: str) -> Handle:
        return self

    def dock_left(self) -> None: ...

    def dock_right(self) -> None: ...

    def expand(self) -> None: ...


class Api:
    """Makes handles: `add_slider(...)` has the arguments of viser's own."""

    def __init__(self, server: StandIn, of: type) -> None:
        self.server, self.of, self.handles, self.changes = server, of, [], server.changes

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("set_", "configure_")):
            return lambda *_, **__: None
        assert name.startswith("add_"), name
        kind = name.removeprefix("add_")
        signature = inspect.signature(getattr(self.of, name))

        def add(*arguments: Any, **options: Any) -> Handle:
            bound = signature.bind(None, *arguments, **options)
            bound.apply_defaults()
            values = {key: value for key, value in bound.arguments.items() if key != "self" and key[0] != "_"}
            if "initial_value" in values:
                values["value"] = values.pop("initial_value")
            elif kind in ("button", "button_group"):
                values["value"] = False
            is_node = "name" in values
            is_button = kind in ("button", "button_group") or is_node
            cls = Panel if kind == "panel" else Button if is_button else Handle
            if is_node:
                self.handles[:] = [one for one in self.handles if one.name != values["name"]]
            self.handles.append(cls(self, kind, **values))
            self.changes.append((kind, "made"))
            return self.handles[-1]

        return add

    def reset(self) -> None:
        self.handles.clear()

    @property
    def main_panel(self) -> Panel:
        return Panel(self, "main_panel")

    def all(self, kind: str) -> list[Handle]:
        """Handles of a kind, in the order in which they were made."""
        return [one for one in self.handles if one.kind == kind]

    def named(self, label: str) -> Handle:
        """The only handle with this label, title or name."""
        texts = lambda one: {getattr(one, key, None) for key in ("label", "title", "name")}  # noqa: E731
        (found,) = [one for one in self.handles if label in texts(one)]
        return found

    def below(self, name: str) -> list[Handle]:
        return [one for one in self.handles if one.name.startswith(f"{name}/") and one.visible]

    @property
    def text(self) -> str:
        return "\n".join(str(one.content) for one in self.handles if hasattr(one, "content"))


class StandIn:
    """The server: one browser has its page open."""

    def __init__(self) -> None:
        import viser

        self.changes: list[tuple[str, str]] = []
        self.gui, self.scene = Api(self, viser.GuiApi), Api(self, viser.SceneApi)
        self.initial_camera = SimpleNamespace(position=np.array((3.0, 3.0, 3.0)), look_at=np.zeros(3), fov=1.0)
        self.said: list[str] = []
        self.clients: dict[int, Any] = {}
        self._gone: list[Any] = []
        self._come: list[Any] = []
        self.join(SOMEBODY)

    def join(self, browser: int) -> None:
        place = {"position": np.array((3.0, 3.0, 3.0)), "look_at": np.zeros(3)}
        camera = SimpleNamespace(**place, aspect=1.5, image_width=900, on_update=lambda callback: None)
        notify = lambda title, text, **_: self.said.append(text)  # noqa: E731
        self.clients[browser] = SimpleNamespace(
            client_id=browser, camera=camera, add_notification=notify, atomic=contextlib.nullcontext
        )
        for callback in self._come:
            finish(callback(self.clients[browser]))

    def leave(self, browser: int = SOMEBODY) -> None:
        client = self.clients.pop(browser)
        for callback in self._gone:
            finish(callback(client))

    def get_clients(self) -> dict[int, Any]:
        return dict(self.clients)

    def on_client_connect(self, callback: Any) -> None:
        self._come.append(callback)
        for client in self.clients.values():
            finish(callback(client))

    def on_client_disconnect(self, callback: Any) -> None:
        self._gone.append(callback)

    def atomic(self) -> Any:
        return contextlib.nullcontext()

    def get_port(self) -> int:
        return 8080

    def stop(self) -> None: ...


def placed(xyz, rpy=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = from_rpy(*rpy), xyz
    return pose


def drag(gizmo, pose, *phases):
    """Let a gizmo take events of phases "start", "update" and "end" as it takes a browser's."""
    for phase in phases:
        gizmo.handles.wxyz, gizmo.handles.position = to_quaternion(pose[:3, :3]), pose[:3, 3]
        finish(gizmo.take(SimpleNamespace(target=gizmo.handles, phase=phase, client_id=SOMEBODY, client=None)))
