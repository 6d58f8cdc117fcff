# SPDX-License-Identifier: Apache-2.0
"""The web pages that some devices have, such as a sensor's calibration, served from a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ada_robot.errors import TransportError


class PageServer:
    """Pages of a device.

    Attributes:
        url: address of all of them, such as http://127.0.0.1:41235.
    """

    def __init__(self, pages: Callable[[], Mapping[str, bytes]], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Serve.

        Args:
            pages: called at each request; content by path, such as "/netftapi2.xml".
            host: address of this machine to listen on.
            port: 0: the system chooses one.

        Raises:
            TransportError: the port is taken.
        """

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages().get(self.path.partition("?")[0])
                if page is None:
                    self.send_error(404)
                    return
                kind = "text/xml" if self.path.partition("?")[0].endswith(".xml") else "text/html"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: object) -> None:
                """Log nothing: stdout is for answers."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as problem:
            raise TransportError(
                f"http://{host}:{port}: cannot be served: {problem.strerror}.", field="port", value=port
            ) from None
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, name="pages", daemon=True).start()

    def close(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()
