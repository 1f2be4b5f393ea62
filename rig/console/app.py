"""The application: its routes behind the guard, the page, and errors as answers that say what to do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from anyio.to_thread import run_sync
from fastapi import Depends, FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from rig.console import (
    analysis_routes,
    bench_routes,
    campaign_routes,
    export_routes,
    job_routes,
    review_routes,
    session_routes,
    trial_routes,
)
from rig.console.audit import Audit
from rig.console.bench_state import NotNow
from rig.console.campaigns import Campaigns
from rig.console.guard import Guard
from rig.console.holders import Holders
from rig.console.reviewing import Reviewing
from rig.console.settings import Settings
from rig.console.shelf import Shelf, without_paths
from rig.console.station import Station
from rig.console.web import Parts, person_of
from rig.core.errors import RecordError, RigFault, RunError

STATIC = Path(__file__).parent / "static"
_ASSETS = {"app.js": "text/javascript", "app.css": "text/css", "icon.svg": "image/svg+xml"}


def create(settings: Settings) -> FastAPI:
    """Return the application for one start."""
    shelf = Shelf(settings.runs, settings.cache)
    audit = Audit(settings.runs)
    holders = Holders()
    station = Station(settings.bench, settings.runs, audit, holders) if settings.bench else None
    parts = Parts(
        settings=settings,
        shelf=shelf,
        reviews=Reviewing(shelf, settings.cache),
        audit=audit,
        station=station,
        campaigns=Campaigns(settings.runs, settings.plans or settings.runs, audit, holders),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with shelf:
            yield
            parts.whatifs.close()
            if station is not None:
                await run_sync(station.close)

    app = FastAPI(
        title="runrig console", version=version("runrig"), lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    app.state.parts = parts
    app.include_router(session_routes.router)
    for routes in (
        trial_routes,
        review_routes,
        analysis_routes,
        campaign_routes,
        export_routes,
        bench_routes,
        job_routes,
    ):
        app.include_router(
            routes.router, dependencies=[Depends(person_of)]
        )  # nobody unknown learns what is here
    app.add_exception_handler(RunError, _explained)
    _serve_page(app)
    app.add_middleware(Guard, hosts=settings.hosts, origins=settings.origins, secure=settings.secure)
    return app


def _serve_page(app: FastAPI) -> None:
    @app.get("/assets/{name}", include_in_schema=False)
    def asset(name: str) -> Response:
        if name not in _ASSETS:
            return JSONResponse({"detail": "There is no such file."}, 404)
        return FileResponse(
            STATIC / "assets" / name, media_type=_ASSETS[name], headers={"cache-control": "no-cache"}
        )

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(
            STATIC / "index.html", media_type="text/html", headers={"cache-control": "no-cache"}
        )


def _explained(request: Request, error: Exception) -> Response:
    status = 503 if isinstance(error, RigFault) else 409 if isinstance(error, RecordError | NotNow) else 400
    text = without_paths(str(error))
    if text.startswith("there is no such record"):
        status = 404
    return JSONResponse({"detail": text}, status)
