# SPDX-License-Identifier: Apache-2.0
"""Access control of a page: local browsers, and remote ones with a token.

A page on 127.0.0.1 needs no token. A local browser may still act for a foreign page, by DNS rebinding or by a direct
connection; such requests are recognised by their Host and Origin headers and refused.

A page that other machines can reach has a token in its address: `http://HOST:PORT/?token=...`. The server moves the
token to a cookie, which the browser sends with all further requests, including websockets. A request without the token
gets status 403.
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

VARIABLE = "ADA_VIEW_TOKEN"  # not a parameter: parameters and command lines are readable by others
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")
_BYTES = 24  # length of a random token
_hanging = threading.Lock()

Answer = Callable[[Any, Any], Any]  # websockets `process_request`: connection, request -> response


class AccessControl:
    """Checks each request before it is answered.

    Attributes:
        token: token required of requests; "" if none is needed.
        is_given: True if the token was set by the user in the environment.
    """

    def __init__(self, host: str) -> None:
        """Read or create the token.

        Raises:
            InputError: the token in the environment is too short or has invalid characters.
        """
        given = os.environ.get(VARIABLE, "")
        if given and not _TOKEN.fullmatch(given):
            raise InputError(
                f"{VARIABLE}: a token has 16 to 128 letters, digits, - and _. "
                "Unset the variable to get a random token, which is printed."
            )
        self.is_given = bool(given)
        self.token = given or ("" if is_loopback(host) else secrets.token_urlsafe(_BYTES))
        # Cookies are shared by all ports of a host: derive a name per page.
        name = "ada_" + hashlib.sha256(self.token.encode()).hexdigest()[:16]
        self._cookie = f"{name}={self.token}"
        self._host = host

    def refusal(self, request: Any) -> str:
        """Reason for refusing a request; "" if it is allowed."""
        if self.token and not (self._has_token_in_url(request) or self._has_token_cookie(request)):
            return "token missing or wrong: open the complete address printed at start-up."
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or not (self.token or self._is_safe_host(hosts[0])):
            return "this page is available on this machine only: open http://127.0.0.1 with its port."
        if any(_host_of(origin) != hosts[0].lower() for origin in request.headers.get_all("Origin")):
            return "request from a foreign origin refused."
        return ""

    def before(self, answer: Answer | None) -> Answer:
        """Request handler for websockets that checks access before calling the original handler."""

        def ask(connection: Any, request: Any) -> Any:
            problem = self.refusal(request)
            if problem:
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{problem}\n")
            if self.token and self._has_token_in_url(request) and not request.headers.get_all("Upgrade"):
                response = connection.respond(http.HTTPStatus.SEE_OTHER, "")
                response.headers["Location"] = "/"
                response.headers["Set-Cookie"] = f"{self._cookie}; Path=/; HttpOnly; SameSite=Lax"
                return response
            return answer(connection, request) if answer else None

        return ask

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Install the access check in every websockets server created in this context; viser has no argument for it.

        Raises:
            InputError: no websockets server was created, which would leave the page unprotected; the caller stops it.
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
            raise InputError("the installed viser version cannot be protected by a token: install viser>=1.1,<2.")

    def _has_token_in_url(self, request: Any) -> bool:
        """Return True if the address contains the token."""
        found = parse_qs(request.path.partition("?")[2]).get("token", [])
        return any(_equal(token, self.token) for token in found)

    def _has_token_cookie(self, request: Any) -> bool:
        cookies = ";".join(request.headers.get_all("Cookie")).split(";")
        return any(_equal(cookie.strip(), self._cookie) for cookie in cookies)

    def _is_safe_host(self, host: str) -> bool:
        """Return True if the Host header is a name that DNS rebinding cannot use."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in ("localhost", self._host.lower()) or _is_address(name)


def is_loopback(host: str) -> bool:
    """Return True if an address is reachable from this machine only."""
    found = socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _equal(said: str, secret: str) -> bool:
    """Compare in constant time, against timing attacks."""
    return hmac.compare_digest(said.encode(errors="surrogateescape"), secret.encode())


def _host_of(origin: str) -> str:
    with contextlib.suppress(ValueError):
        return urlsplit(origin).netloc.lower()
    return ""


def _is_address(name: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False
