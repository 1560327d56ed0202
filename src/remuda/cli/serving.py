"""`remuda serve`: an engine over HTTP."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from remuda.cli import options
from remuda.cli.files import FileError
from remuda.cli.screen import working
from remuda.cli.trees import read_trees


def serve(
    root: Annotated[
        str | None,
        typer.Argument(help="The directory of an engine, made if absent; without it, in memory."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=1, max=65535)] = 8000,
    tokens: Annotated[
        str | None,
        typer.Option(help="A file with a role (read, write, admin) and a token on each line."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="The deadline of a request.", min=0.1)] = 60.0,
    body: Annotated[int, typer.Option(help="The most bytes of a body.", min=1)] = 64 << 20,
    batch: Annotated[
        int, typer.Option(help="The most events or criteria of a request.", min=1)
    ] = 1_000_000,
    certificate: Annotated[
        str | None, typer.Option("--ssl-certfile", help="A certificate, for TLS.")
    ] = None,
    key: Annotated[str | None, typer.Option("--ssl-keyfile", help="Its key.")] = None,
    trees: options.Trees = None,
) -> None:
    """Serve indexes over HTTP, with a page for the browser, until SIGTERM or Ctrl-C.

    Every address but this machine's own needs tokens.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise FileError("the service is not installed: pip install 'remuda[service]'")
    from remuda.engine.engine import Engine
    from remuda.service.limits import Limits
    from remuda.service.serving import Exposed, NotListening, serve

    options.check_threads()
    with working(f"opening {root}" if root else "starting"):
        engine = Engine(root, hierarchies=read_trees(trees))
    with engine:
        scheme = "https" if certificate else "http"
        shown = f"[{host}]" if ":" in host else host
        where = root or "memory: nothing is kept when it ends"
        line = f"{scheme}://{shown}:{port}/ serves {where}"
        try:
            serve(
                engine,
                host=host,
                port=port,
                tokens=tokens,
                limits=Limits(body=body, batch=batch, seconds=seconds),
                listening=lambda: print(line, file=sys.stderr, flush=True),
                ssl_certfile=certificate,
                ssl_keyfile=key,
            )
        except Exposed as error:
            raise typer.BadParameter(str(error)) from None
        except NotListening as error:
            raise FileError(str(error)) from None
    print("stopped; all that was accepted is answered and kept", file=sys.stderr)
