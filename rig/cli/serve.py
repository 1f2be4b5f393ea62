"""`runrig serve` and `runrig view`: the console in a browser."""

import tempfile
from dataclasses import replace
from pathlib import Path

from rig.cli.listening import bound
from rig.cli.output import print_json
from rig.console.access import Keys, Role
from rig.console.page_export import write_page
from rig.console.settings import Settings, cache_of, check_runs
from rig.console.shelf import key_of
from rig.console.start import WHAT, check_exposure, links, server
from rig.core.bench import load_bench
from rig.core.errors import UsageError
from rig.core.record.reader import must_be_record


def serve(
    runs: Path | None, bench: str | None, plans: Path | None, *, host: str, port: int, expose: bool,
    certificate: Path | None, key: Path | None,
) -> int:  # fmt: skip
    """Serve until Ctrl-C; print a link per role."""
    check_exposure(host, expose, certificate, key)
    if bench is not None:
        load_bench(bench)
    if plans is not None and not plans.is_dir():
        raise UsageError(f"{plans}: no such folder; give a folder of campaign plans with --plans")
    folder = runs or Path("runs")
    if runs is None:
        folder.mkdir(exist_ok=True)
    settings = _settings(check_runs(folder), bench, host, port, certificate is not None)
    settings = replace(settings, plans=plans.resolve() if plans else None)
    print(f"Records in {settings.runs}" + (f", bench {bench}" if bench else ", no bench (see --bench)"))  # noqa: T201
    print("Open one of these; each is as good as a key until this command ends:")  # noqa: T201
    for role, link in links(settings).items():
        print(f"  {role.value:<11} {link}\n  {'':<11} {WHAT[role]}")  # noqa: T201
    print(  # noqa: T201
        "Ctrl-C ends the console. The stop on the page is a request; the hardware stop does not need it.",
        flush=True,
    )
    server(settings, certificate, key).run()
    return 0


def view(record: Path, port: int) -> int:
    """Serve the folder a record is in, and print the link that opens it."""
    must_be_record(record)
    record = record.resolve()
    settings = _settings(check_runs(record.parent), None, "127.0.0.1", port, secure=False)
    name = key_of(settings.runs, record)
    print(f"Open {links(settings, f'/trials/{name}?')[Role.ADMIN]}\nCtrl-C ends.", flush=True)  # noqa: T201
    server(settings).run()
    return 0


def export_page(record: Path, out: Path | None, as_json: bool, alone: bool) -> int:
    """Write a record as one HTML page."""
    if not alone:
        raise UsageError("--html writes the whole record; give --csv, --parquet or --channels apart from it")
    must_be_record(record)
    folder = out or record / "exports"
    with tempfile.TemporaryDirectory(prefix="runrig-page-") as scratch:
        path = write_page(record, folder / f"{record.resolve().name}.html", Path(scratch))
    if as_json:
        print_json({"page": path})
    else:
        print(f"{path}: open it in any browser; it needs no network and is a copy, never evidence")  # noqa: T201
    return 0


def _settings(runs: Path, bench: str | None, host: str, port: int, secure: bool) -> Settings:
    return Settings(
        runs=runs, bench=bench, keys=Keys.fresh(), host=host, port=_free(host, port), secure=secure,
        cache=cache_of(runs),
    )  # fmt: skip


def _free(host: str, port: int) -> int:
    """Return the port, found to be free; 0 becomes one that is.

    Raises:
        UsageError: If something else listens there.
    """
    with bound(host, port) as probe:
        return int(probe.getsockname()[1])
