# SPDX-License-Identifier: Apache-2.0
"""HTTP server for the web pages of a device, such as a sensor's calibration page, in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ada_robot.errors import TransportError


class PageServer:
    """HTTP server of a device.

    Attributes:
        url: base address, such as http://127.0.0.1:41235.
    """

    def __init__(self, pages: Callable[[], Mapping[str, bytes]], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Start the server.

        Args:
            pages: called at each request; content by path, such as "/netftapi2.xml".
            host: local address to listen on.
            port: port; 0: a free one.

        Raises:
            TransportError: the port is in use.
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
                """Suppress the log: stdout is used for replies."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as problem:
            raise TransportError(
                f"http://{host}:{port}: cannot listen: {problem.strerror}.", field="port", value=port
            ) from None
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, name="pages", daemon=True).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
