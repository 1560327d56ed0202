"""`remuda serve`: an engine over HTTP."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from remuda.cli import options
from remuda.cli.files import FileError
from remuda.cli.screen import working
from remuda.cli.trees import read_trees

if TYPE_CHECKING:
    from remuda.engine.engine import Engine
    from remuda.service.serving import Terms

_CAMPAIGNS = 20_000  # of the demonstration


@dataclass(frozen=True, slots=True)
class Listening:
    """Where others reach the service, and who may ask."""

    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = (
        8000
    )
    tokens: Annotated[
        str | None,
        typer.Option(help="A file with a role (read, write, admin) and a token on each line."),
    ] = None
    certificate: Annotated[
        str | None, typer.Option("--ssl-certfile", help="A certificate, for TLS.")
    ] = None
    key: Annotated[str | None, typer.Option("--ssl-keyfile", help="Its key.")] = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a request may take."""

    seconds: Annotated[float, typer.Option(help="The deadline of a request.", min=0.1)] = 60.0
    body: Annotated[int, typer.Option(help="The most bytes of a body.", min=1)] = 64 << 20
    batch: Annotated[int, typer.Option(help="The most events or criteria of a request.", min=1)] = (
        1_000_000
    )
    connections: Annotated[int, typer.Option(help="The most at once.", min=1)] = 1_000
    idle: Annotated[
        float, typer.Option(help="Seconds that a connection may ask nothing.", min=0.1)
    ] = 60.0


@dataclass(frozen=True, slots=True)
class Watching:
    """What is told of requests."""

    log: Annotated[
        Literal["text", "json"], typer.Option(help="Lines for people, or objects for machines.")
    ] = "text"
    visits: Annotated[bool, typer.Option("--access-log", help="A line for every request.")] = False
    hits: Annotated[
        bool, typer.Option("--hits", help="Count in /metrics how often each criterion holds.")
    ] = False
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="A span of OpenTelemetry for every request.")
    ] = False


def serve(
    root: Annotated[
        str | None,
        typer.Argument(help="The directory of an engine, made if absent; without it, in memory."),
    ] = None,
    *,
    listening: Listening,
    workers: Annotated[
        int, typer.Option(help="Processes: one writes, the others follow it.", min=1, max=256)
    ] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="Begin with made-up campaigns.")] = False,
    bounds: Bounds,
    watching: Watching,
    trees: options.Trees = None,
) -> None:
    """Serve indexes over HTTP, with a page for the browser, until SIGTERM or Ctrl-C.

    Every address but this machine's own needs tokens.
    """
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise FileError("the service is not installed: pip install 'remuda[service]'")
    if watching.telemetry and find_spec("opentelemetry") is None:
        raise FileError("OpenTelemetry is not installed: pip install 'remuda[telemetry]'")
    from remuda.service.limits import Limits
    from remuda.service.serving import Exposed, NotListening, Terms
    from remuda.service.workers import NotStarted

    options.check_threads()
    terms = Terms(limits=Limits(**asdict(bounds)), **asdict(listening), **asdict(watching))
    try:
        terms.check()
        _serve(root, terms, workers, trees, demo=demo)
    except Exposed as error:
        raise typer.BadParameter(str(error)) from None
    except NotListening as error:
        raise FileError(str(error)) from None
    except NotStarted:
        raise FileError("the writer has ended before it served") from None
    print("stopped; all that was accepted is answered and kept", file=sys.stderr)


def _serve(
    root: str | None, terms: Terms, workers: int, trees: options.Trees, *, demo: bool
) -> None:
    from remuda.engine.engine import Engine
    from remuda.service.serving import serve
    from remuda.service.workers import supervise

    scheme = "https" if terms.certificate else "http"
    shown = f"[{terms.host}]" if ":" in terms.host else terms.host
    where = root or "memory: nothing is kept when it ends"

    def listening(port: int) -> None:
        print(f"{scheme}://{shown}:{port}/ serves {where}", file=sys.stderr, flush=True)

    known = read_trees(trees)
    with ExitStack() as stack:
        if workers == 1 or demo:
            if workers > 1 and root is None:
                root = stack.enter_context(TemporaryDirectory(prefix="remuda-"))
            with working(f"opening {root}" if root else "starting"):
                engine = Engine(root, hierarchies=known)
            with engine:
                if demo:
                    _begin_with_campaigns(engine)
                if workers == 1:
                    serve(engine, terms, listening=listening)
        if workers > 1:
            supervise(root, terms, workers, trees=known, listening=listening)


def _begin_with_campaigns(engine: Engine) -> None:
    """Sample data: the campaigns of a made-up day."""
    import numpy as np

    from remuda.cli.demo_data import draw_day

    if "campaigns" not in engine:
        with working(f"drawing {_CAMPAIGNS:,} campaigns"):
            campaigns, _ = draw_day(np.random.default_rng(1), _CAMPAIGNS, 1)
            engine.add("campaigns", campaigns)
