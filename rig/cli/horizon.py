"""`runrig horizon`: from records or a trial table to horizons."""

from pathlib import Path

from rig.cli.output import print_json


def show_horizons(
    source: Path, *, replicates: int, seed: int, pool: bool, html: Path | None, as_json: bool
) -> int:
    """Fit and print; exit 1 when no horizon could be given."""
    from analysis import Configurations, EstimateOptions, HorizonOptions, horizons
    from analysis.export import to_json
    from analysis.table import load_table
    from analysis.text import render

    table = load_table(source)
    options = HorizonOptions(
        configurations=Configurations.POOL if pool else Configurations.REFUSE,
        estimate=EstimateOptions(replicates=replicates, seed=seed),
    )
    report = horizons(table, options)
    if html is not None:
        from analysis.report import write_report

        write_report(report, table, html)
    if as_json:
        print_json(to_json(report))
    else:
        from rich.console import Console

        Console().print(render(report))
        if html is not None:
            Console().print(f"Report: {html}")
    return 0 if report.has_horizon else 1
