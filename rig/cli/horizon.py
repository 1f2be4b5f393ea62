"""`runrig horizon` and `report`: from records or a trial table to horizons and the scoreboard."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rig.cli.output import print_json
from rig.core.errors import UsageError

if TYPE_CHECKING:
    from analysis import HorizonOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for on the command line."""

    replicates: int
    seed: int
    weighting: str
    by_family: bool
    metr: bool
    penalty: float | None
    pool: bool

    def options(self) -> "HorizonOptions":
        """Return the analysis' own options.

        Raises:
            UsageError: If two things asked for exclude each other, or a name is unknown.
        """
        from dataclasses import replace

        from analysis import Configurations, EstimateOptions, HorizonOptions, Weighting

        configurations = Configurations.POOL if self.pool else Configurations.REFUSE
        if self.metr:
            if self.weighting != "none":
                raise UsageError("--metr brings its own weights; leave --weighting out")
            penalty = 1e-5 if self.penalty is None else self.penalty
            made = HorizonOptions.metr(penalty, replicates=self.replicates, seed=self.seed)
            return replace(made, configurations=configurations)
        if self.penalty is not None:
            raise UsageError("--penalty goes with --metr only: nothing of ours is penalised")
        if self.weighting not in list(Weighting):
            raise UsageError(f"--weighting {self.weighting!r}: give one of {', '.join(Weighting)}")
        return HorizonOptions(
            estimate=EstimateOptions(replicates=self.replicates, seed=self.seed),
            by_family=self.by_family,
            configurations=configurations,
            weighting=Weighting(self.weighting),
        )


def show_horizons(source: Path, asked: Asked, html: Path | None, as_json: bool) -> int:
    """Fit and print; exit 1 when no horizon could be given."""
    from analysis import horizons
    from analysis.export import to_json
    from analysis.table import load_table
    from analysis.text import render

    options = asked.options()
    table = load_table(source)
    report = horizons(table, options)
    if html is not None:
        from analysis.report import write_report

        try:
            write_report(report, table, html)
        except OSError as error:
            raise UsageError(f"{html}: cannot be written ({error.strerror})") from None
    if as_json:
        print_json(to_json(report))
    else:
        from rich.console import Console

        Console().print(render(report))
        if html is not None:
            Console().print(f"Report: {html}")
    return 0 if report.has_horizon else 1


def build_scoreboard(bundle: Path, out: Path) -> int:
    """Build the site; a bundle with anything missing is refused with all that is missing."""
    from analysis.bundle import load_bundle
    from analysis.scoreboard import build_site

    build_site(load_bundle(bundle), out)
    print(f"Scoreboard: {out / 'index.html'}")  # noqa: T201
    return 0
