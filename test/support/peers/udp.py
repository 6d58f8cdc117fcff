# SPDX-License-Identifier: Apache-2.0
"""A peer on a real socket of this machine, in a thread, in real time."""

from __future__ import annotations

import select
import socket
import threading
import time

from peers.pa10 import Pa10Peer
from peers.pa10_witness import Pa10Witness

TICK = 0.002  # [s] between looks at the arm while nothing comes


class UdpPeer:
    """Serves a PA-10 until it is closed."""

    def __init__(self, peer: Pa10Peer) -> None:
        self.peer, self.lock = peer, threading.Lock()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.url = f"udp://127.0.0.1:{self._socket.getsockname()[1]}"
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="peer", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ends.is_set():
            select.select([self._socket], [], [], TICK)
            while True:
                try:
                    data, sender = self._socket.recvfrom(2048)
                except (BlockingIOError, ConnectionError):
                    break
                with self.lock:
                    replies = list(self.peer.hear(time.monotonic(), sender, data))
                for _, answer in replies:
                    self._socket.sendto(answer, sender)
            with self.lock:
                self.peer.advance(time.monotonic())

    def __enter__(self) -> UdpPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(5.0)
        self._socket.close()

    @property
    def witness(self) -> Pa10Witness:
        assert isinstance(self.peer.witness, Pa10Witness)
        return self.peer.witness
