# SPDX-License-Identifier: Apache-2.0
"""Program of the third machine: displays both robots and the contact force in the browser (sec. 3.1, fig. 16)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_experiments.motion_simulation.delay import WRAP
from ada_experiments.motion_simulation.packets import Flags, PicturePacket, decode
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair
from ada_hardware.emulation.host import ANY_UDP, UdpPort
from ada_tools.browser.page import HOST, PORT, Page
from ada_tools.browser.plots import LivePlot
from ada_tools.browser.scene import Arrow, Scene

_SILENT = 1.0  # [s] timeout for pictures
_PLOTTED = 3.0  # [s]


class Graphics:
    """Browser page that displays the dynamics.

    Attributes:
        url: address for pictures.
        page_url: address of the page.
        pictures: number of received pictures.
        lost: number of lost pictures.
    """

    def __init__(
        self,
        settings: PairSettings,
        listen: str = ANY_UDP,
        *,
        host: str = HOST,
        port: int = PORT,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Draw both robots in their initial state.

        Args:
            settings: settings of the robots.
            listen: udp://HOST:PORT, for pictures.
            host: host of the page.
            port: port of the page; 0 selects a free one.
            clock: clock of the picture timeout.

        Raises:
            TransportError: the UDP address is not available.
            InputError: viser is not installed, or the port is in use.
        """
        self._end, self._clock = UdpPort(listen), clock
        self.url = self._end.url
        self._page = Page("hybrid motion simulation", host, port)
        self.page_url = self._page.url
        pair = RobotPair(settings)
        self._size = pair.model.nq
        self._scene = Scene(self._page.server, pair.model, pair.dynamics)
        gui: Any = self._page.gui
        self._words = gui.add_markdown("waiting for the dynamics")
        self._force = LivePlot(gui, "force [N]", ("force",), _PLOTTED)
        self._delay = LivePlot(gui, "delay of the loop [ms]", ("delay",), _PLOTTED)
        self.pictures = self.lost = 0
        self._newest: PicturePacket | None = None
        self._came = self._clock.now()
        self._scene.show(pair.q, ())

    def run(self, duration: float | None = None) -> dict[str, Any]:
        """Run until `stop` or for a duration [s]; return statistics."""
        try:
            self._page.run(self.tick, duration)
        finally:
            self._page.close()
            self._end.close()
        return {"role": "graphics", "pictures": self.pictures, "lost": self.lost}

    def stop(self) -> None:
        """Stop, from any thread or a signal handler."""
        self._page.end()

    def tick(self) -> None:
        """Receive pictures and draw the latest."""
        is_new = False
        for _, data in self._end.arrivals(0.0):
            packet = decode(data)
            if isinstance(packet, PicturePacket) and len(packet.q) == self._size:
                is_new |= self._take(packet)
        packet = self._newest
        if packet is not None and is_new:
            size = float(np.linalg.norm(packet.wrench[:3]))
            touching = bool(packet.flags & Flags.TOUCHING)
            self._scene.show(packet.q, (Arrow(packet.place, packet.wrench[:3]),) if touching else ())
            place = ", ".join(f"{x:.4f}" for x in packet.plate[:3])
            self._words.content = (
                f"t = {packet.time:.2f} s, {'**touching**' if touching else 'apart'}, force {size:.2f} N\n\n"
                f"loop delay {1e3 * packet.delay:.1f} ms, plate at ({place}) m"
            )
            self._force.draw()
            self._delay.draw()
        elif self._clock.now() - self._came > _SILENT:
            self._words.content = f"no picture for {self._clock.now() - self._came:.0f} s"

    def _take(self, packet: PicturePacket) -> bool:
        newest = self._newest
        ahead = 1 if newest is None else (packet.sequence - newest.sequence) % WRAP
        if newest is not None and not 0 < ahead < WRAP // 2:
            return False
        self.lost += ahead - 1
        self._newest, self._came = packet, self._clock.now()
        self.pictures += 1
        self._force.add(packet.time, [float(np.linalg.norm(packet.wrench[:3]))])
        self._delay.add(packet.time, [1e3 * packet.delay])
        return True
