"""A running estimate while trials come in, with the same numbers as the batch at the end."""

from analysis.horizon import HorizonOptions, HorizonReport, horizons
from analysis.problems import Problem, refuse
from analysis.trials import TrialRow, TrialTable


class RunningEstimate:
    """Collects rows as trials end and estimates anew when asked.

    A full report of a campaign takes milliseconds, so nothing is approximated on the way: what
    `report` returns is exactly what `analysis.horizon.horizons` would return for the rows so far,
    whatever order they came in.
    """

    def __init__(self, source: str, options: HorizonOptions | None = None) -> None:
        self._source, self._options = source, options or HorizonOptions()
        self._rows: dict[str, TrialRow] = {}
        self._report: HorizonReport | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: TrialRow) -> None:
        """Take in one trial.

        Raises:
            ConfigError: If the row is wrong, or its trial was taken in before; nothing is taken in then.
        """
        if row.trial_id in self._rows:
            refuse(self._source, [Problem(len(self) + 1, row.trial_id, "trial_id was already taken in")])
        TrialTable.from_rows([row], self._source)
        self._rows[row.trial_id] = row
        self._report = None

    def correct(self, row: TrialRow) -> None:
        """Replace a trial whose grade changed, e.g. after a review.

        Raises:
            ConfigError: If the row is wrong or its trial is not known; nothing changes then.
        """
        if row.trial_id not in self._rows:
            refuse(self._source, [Problem(len(self), row.trial_id, "trial_id is not known")])
        TrialTable.from_rows([row], self._source)
        self._rows[row.trial_id] = row
        self._report = None

    def report(self) -> HorizonReport:
        """Return the report on all trials so far.

        Raises:
            ConfigError: If rows contradict each other.
            UsageError: As `analysis.horizon.horizons`.
        """
        if self._report is None:
            self._report = horizons(TrialTable.from_rows(self._rows.values(), self._source), self._options)
        return self._report
