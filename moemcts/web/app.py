"""The server of the pages: it serves this machine only, and no files except its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mimetypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any

from moemcts.cancellation import cancelled_unless
from moemcts.errors import MissingExtra, MoemctsError, UsageError, one_line
from moemcts.plugins import plugins
from moemcts.web.offers import Offers
from moemcts.web.table import RequestError
from moemcts.web.tables import Tables, TableVersion

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError:
    raise MissingExtra("starlette", "web") from None

HOSTS = ("localhost", "127.0.0.1", "[::1]")
MAX_BODY = 262_144
"""Maximum bytes of a request body; the largest has all moves of a game, to restore it after a restart of the server."""
MAX_TEXT = 80
"""Maximum characters of an action's name."""
PORT = 8642
_THREAD = "moemcts page"
"""Name of the threads that process requests which may take long."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Files = Mapping[str, Path]


def make_app(offers: Offers) -> ASGIApp:
    """Returns the ASGI application; `offers` defines what its pages may request."""
    tables = Tables()
    page_files = _list_files(Path(str(files("moemcts.web").joinpath("page"))))

    async def page(request: Request) -> Response:
        return _file_response(page_files, request.path_params.get("name", "index.html"))

    async def board(request: Request) -> Response:
        return _file_response(_board_files(request.path_params["game"]), request.path_params["name"])

    async def games(_: Request) -> Response:
        return JSONResponse(offers.games())

    def agents(request: Request) -> Response:
        return JSONResponse(offers.agents(request.path_params["game"]))

    async def create(request: Request) -> Response:
        body = await _parse_json_body(request)
        return await _in_thread(request, lambda: tables.add(offers.table(body)))

    def snapshot(request: Request) -> Response:
        return JSONResponse(tables.snapshot(request.path_params["table"]))

    async def advance(request: Request) -> Response:
        body = await _parse_json_body(request)
        version, action = _parse_version(body), body.get("action")
        if action is not None:
            action = _parse_text(body, "action") if isinstance(action, str) else _parse_integer(body, "action")
        return await _in_thread(request, lambda: tables.advance(request.path_params["table"], version, action))

    async def take_back(request: Request) -> Response:
        version = _parse_version(await _parse_json_body(request))
        return await _in_thread(request, lambda: tables.take_back(request.path_params["table"], version))

    async def resign(request: Request) -> Response:
        version = _parse_version(await _parse_json_body(request))
        return await _in_thread(request, lambda: tables.resign(request.path_params["table"], version))

    async def rotate(request: Request) -> Response:
        await _parse_json_body(request)
        return await _in_thread(request, lambda: tables.rotate(request.path_params["table"]))

    def rounds(request: Request) -> Response:
        return JSONResponse(tables.rounds(request.path_params["table"]))

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/page/{name}", page),
            Route("/board/{game}/{name:path}", board),
            Route("/api/games", games),
            Route("/api/games/{game:path}", agents),
            Route("/api/tables", create, methods=["POST"]),
            Route("/api/tables/{table}", snapshot),
            Route("/api/tables/{table}/rounds", rounds),
            Route("/api/tables/{table}/resign", resign, methods=["POST"]),
            Route("/api/tables/{table}/turn", rotate, methods=["POST"]),
            Route("/api/tables/{table}/advance", advance, methods=["POST"]),
            Route("/api/tables/{table}/back", take_back, methods=["POST"]),
        ],
        exception_handlers={
            MoemctsError: _handle_refusal,
            Exception: _handle_failure,
            404: _error_handler(404, "no such page"),
            405: _error_handler(405, "no such method here"),
        },
    )
    return Guard(app)


def serve(offers: Offers, port: int | None, on_ready: Callable[[str], None]) -> None:
    """Serves on 127.0.0.1 until interrupted; calls `on_ready` with the address once it is bound.

    The default port is 8642, or any other if that is in use. Raises UsageError if a given port is in use.
    """
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("uvicorn", "web") from None
    config = uvicorn.Config(
        make_app(offers), log_config=None, log_level="critical", access_log=False, timeout_graceful_shutdown=1
    )
    exit_signal = signal.SIGINT

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            nonlocal exit_signal
            exit_signal = signal.Signals(sig)
            super().handle_exit(sig, frame)

    with _bind_socket(port) as bound:
        on_ready(f"http://127.0.0.1:{bound.getsockname()[1]}/")
        try:
            Server(config).run(sockets=[bound])
        except KeyboardInterrupt:
            if any(thread.name == _THREAD for thread in threading.enumerate()):
                # Searches do not notice signals in their threads, and the interpreter would wait for them on exit.
                print("interrupted", file=sys.stderr, flush=True)
                os._exit(128 + exit_signal)
            raise


class Guard:
    """Rejects requests that do not come from a page of this server, and those that are too large, before processing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        error = _check_headers(headers)
        if error is None:
            body = await _read_body(receive)
            if body is None:
                error = RequestError(413, f"expected a body of at most {MAX_BODY} bytes")
        if error is not None:
            await _error_response(error)(scope, receive, send)
            return
        is_body_sent = False

        async def replay() -> Message:
            nonlocal is_body_sent
            if is_body_sent:
                return await receive()
            is_body_sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        await self._app(scope, replay, guarded)


def _check_headers(headers: Mapping[str, str]) -> RequestError | None:
    """Returns why a request is rejected by its headers; None if it is not."""
    host = headers.get("host", "")
    name, colon, port = host.rpartition(":")
    if (name if colon and port.isdigit() else host) not in HOSTS:
        # A foreign name that resolves to this address would allow other sites to read responses (DNS rebinding).
        return RequestError(403, f"expected to be called {', '.join(HOSTS)}, got {host[:80]!r}")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return RequestError(403, f"expected a page of this server, got one of {origin[:80]!r}")
    length = headers.get("content-length", "0")
    if not length.isdigit():
        return RequestError(400, "expected a content-length in digits")
    if int(length) > MAX_BODY:
        return RequestError(413, f"expected a body of at most {MAX_BODY} bytes, got {length}")
    return None


async def _read_body(receive: Receive) -> bytes | None:
    """Returns the request body; None as soon as it exceeds the limit, whatever its Content-Length."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += bytes(message.get("body", b""))
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


async def _parse_json_body(request: Request) -> dict[str, Any]:
    """Returns the JSON object of a request; raises RequestError for anything else."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RequestError(415, f"expected content of type application/json, got {media_type or 'none'}")
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"expected JSON: {error}") from None
    if not isinstance(body, dict):
        raise RequestError(400, f"expected a JSON object, got {type(body).__name__}")
    return body


def _parse_version(body: Mapping[str, Any]) -> TableVersion:
    return TableVersion(_parse_integer(body, "step"), _parse_integer(body, "revision") if "revision" in body else None)


def _parse_integer(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RequestError(400, f"expected {name} as a whole number, got {value!r}")
    return value


def _parse_text(body: Mapping[str, Any], name: str) -> str:
    value = body[name]
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise RequestError(400, f"expected {name} as a text of at most {MAX_TEXT} characters")
    return value


async def _in_thread(request: Request, work: Callable[[], dict[str, Any]]) -> Response:
    """Processes a slow request in a daemon thread, so that other requests and the exit do not wait for it.

    The work is cancelled when the client disconnects. The request's body must have been read before.
    """
    future: Future[dict[str, Any]] = Future()
    future.set_running_or_notify_cancel()
    has_left = threading.Event()

    def run() -> None:
        try:
            with cancelled_unless(lambda: not has_left.is_set()):
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        has_left.set()

    threading.Thread(target=run, name=_THREAD, daemon=True).start()
    watching = asyncio.ensure_future(watch())
    try:
        return JSONResponse(await asyncio.wrap_future(future))
    finally:
        watching.cancel()
        # The server may be shutting down.
        has_left.set()


def _list_files(folder: Path) -> Files:
    """Returns the files of a folder by relative path; only these can be requested."""
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def _board_files(game: str) -> Files:
    names = [game] if game in plugins().games else []
    boards = [plugins().board(plugins().game(name)) for name in names]
    return {key: path for board in boards if board and board.page for key, path in _list_files(board.page).items()}


def _file_response(known: Files, name: str) -> Response:
    if name not in known:
        raise RequestError(404, "no such page")
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    # The system's MIME type of .js is sometimes wrong, in which case browsers refuse to run modules.
    fixed_types = {"js": "text/javascript", "svg": "image/svg+xml", "css": "text/css"}
    media_type = fixed_types.get(name.rpartition(".")[2], media_type)
    return Response(known[name].read_bytes(), media_type=media_type)


def _error_response(error: RequestError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=error.status, headers=HEADERS)


async def _handle_refusal(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=getattr(error, "status", 400))


async def _handle_failure(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"the program failed: {one_line(error)}"}, status_code=500)


def _error_handler(status: int, reason: str) -> Callable[[Request, Exception], Any]:
    async def answer(_: Request, __: Exception) -> Response:
        return JSONResponse({"error": reason}, status_code=status)

    return answer


def _bind_socket(port: int | None) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", PORT if port is None else port))
    except OSError as error:
        if port is not None:
            bound.close()
            raise UsageError(f"cannot listen on port {port}: {error.strerror}; choose another --port") from None
        with contextlib.suppress(OSError):
            bound.bind(("127.0.0.1", 0))
    # Clients may connect as soon as they know the address.
    bound.listen(128)
    return bound
