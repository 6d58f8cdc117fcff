# SPDX-License-Identifier: Apache-2.0
"""Access control of a page: browsers of this machine, and others with its token.

A page on 127.0.0.1 is for users of this machine, and needs no token. But a browser of this machine may be the tool of
a page from elsewhere: that gives its own name an address of this machine (DNS rebinding), or just connects. Both say
where they are from, in the headers Host and Origin, and are refused.

A page that other machines can reach has a token, which its address brings: `http://HOST:PORT/?token=...`. The browser
gets it back as a cookie, so that it leaves the address, and sends it along with everything else, websockets too.
Whatever comes without it gets status 403 and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http
import ipaddress
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ada_dynamics.errors import InputError

VARIABLE = "ADA_VIEW_TOKEN"  # no parameter: everybody in the domain can read those, and everybody here a command line
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
_BYTES = 24  # of a token that is drawn by lot
_hanging = threading.Lock()

Answer = Callable[[Any, Any], Any]  # what websockets asks before it answers a request: connection, request -> response


class Door:
    """Checks each request before it is answered.

    Attributes:
        token: that a request must bring; "" where none is needed.
        is_given: the token came from the environment, so that the user knows it.
    """

    def __init__(self, host: str) -> None:
        """Args: the address that the page listens on.

        Raises:
            InputError: the environment's token is too short, or has other letters than addresses may have.
        """
        given = os.environ.get(VARIABLE, "")
        if given and not _TOKEN.fullmatch(given):
            raise InputError(
                f"{VARIABLE}: a token has 16 to 128 letters, digits, - and _. "
                "Leave the variable away, and one is drawn by lot and printed."
            )
        self.is_given = bool(given)
        self.token = given or ("" if is_loopback(host) else secrets.token_urlsafe(_BYTES))
        # Ports share their cookies: pages next to each other need names of their own.
        name = "ada_" + hashlib.sha256(self.token.encode()).hexdigest()[:16]
        self._cookie = f"{name}={self.token}"
        self._host = host

    def refusal(self, request: Any) -> str:
        """Why a request gets no answer; "" where it gets one."""
        if self.token and not (self._is_brought(request) or self._is_in_cookies(request)):
            return "This page needs its token: open the whole address that was printed when it was started."
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or not (self.token or self._is_own(hosts[0])):
            return "This page is for this machine alone: open it as http://127.0.0.1, with its port."
        if any(_place(origin) != hosts[0].lower() for origin in request.headers.get_all("Origin")):
            return "Another page's program asked, which may not use this one."
        return ""

    def before(self, answer: Answer | None) -> Answer:
        """Request handler for websockets: this door first, then the original one."""

        def ask(connection: Any, request: Any) -> Any:
            problem = self.refusal(request)
            if problem:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{problem}\n")
            if self.token and self._is_brought(request) and not request.headers.get_all("Upgrade"):
                response = connection.respond(http.HTTPStatus.SEE_OTHER, "")
                response.headers["Location"] = "/"
                response.headers["Set-Cookie"] = f"{self._cookie}; Path=/; HttpOnly; SameSite=Lax"
                return response
            return answer(connection, request) if answer else None

        return ask

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        """In this context every server of websockets gets this door: viser makes one, without an argument for it.

        Raises:
            InputError: none was made: this viser serves its page in another way, which would be open to everybody. Who
                started it stops it.
        """
        import websockets.asyncio.server as websockets

        server: Any = websockets
        serve, hung = server.serve, []

        def guarded(*arguments: Any, process_request: Answer | None = None, **options: Any) -> Any:
            hung.append(True)
            return serve(*arguments, process_request=self.before(process_request), **options)

        with _hanging:
            server.serve = guarded
            try:
                yield
            finally:
                server.serve = serve
        if not hung:
            raise InputError("this viser serves its page in a way that no token can guard: install viser>=1.1,<2.")

    def _is_brought(self, request: Any) -> bool:
        """True if the address has the token."""
        found = parse_qs(request.path.partition("?")[2]).get("token", [])
        return any(_is_same(token, self.token) for token in found)

    def _is_in_cookies(self, request: Any) -> bool:
        cookies = ";".join(request.headers.get_all("Cookie")).split(";")
        return any(_is_same(cookie.strip(), self._cookie) for cookie in cookies)

    def _is_own(self, host: str) -> bool:
        """True if a request's Host is a name that others cannot give to an address of this machine."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in ("localhost", self._host.lower()) or _is_address(name)


def is_loopback(host: str) -> bool:
    """True if an address to listen on can be reached from this machine alone."""
    found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _is_same(said: str, secret: str) -> bool:
    """Comparison in constant time, so that a token cannot be guessed letter by letter."""
    return hmac.compare_digest(said.encode(errors="surrogateescape"), secret.encode())


def _place(origin: str) -> str:
    with contextlib.suppress(ValueError):
        return urlsplit(origin).netloc.lower()
    return ""


def _is_address(name: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False
