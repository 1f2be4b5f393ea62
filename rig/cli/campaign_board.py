"""What the screen shows of a campaign: one picture for the coordinator's terminal and for any other."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from analysis.words import duration
from rig.campaign.coordinator import Observer
from rig.campaign.entries import CampaignStatus, Entry, State
from rig.campaign.work import Returned

MOST_LEASES = 8  # lines


def render(status: CampaignStatus, bar: bool = True) -> RenderableType:
    """Return a campaign's state as a picture, with a bar for a screen that changes."""
    kind = (
        f"registered {status.registration[:12]}"
        if status.registration
        else "EXPLORATORY, accepted by no gate"
    )
    head = Text(f"{status.name} ({kind}): {status.ended} of {status.trials} trials have ended")
    parts: list[RenderableType] = [head]
    if bar:
        parts.append(ProgressBar(total=max(status.trials, 1), completed=status.ended, width=60))
    parts.append(Text(_pace(status)))
    counts = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, n in sorted(status.outcomes.items(), key=lambda pair: -pair[1]):
        counts.add_row(name, str(n))
    for name, n in sorted(status.causes.items(), key=lambda pair: -pair[1]):
        counts.add_row(f"  {name}", str(n))
    parts.append(counts)
    under_way = Text(style="dim", overflow="ellipsis", no_wrap=True)
    for lease in status.leases[:MOST_LEASES]:
        s = lease.spec
        under_way.append(
            f"{lease.worker}: {s.agent} on {s.item}, {s.monitor}, seed {s.seed}, at {duration(lease.job_s)}, "
            f"heard of {lease.lag_s:.1f} s ago\n"
        )
    if status.leases:
        parts.append(under_way)
    return Group(*parts)


def _pace(status: CampaignStatus) -> str:
    if status.complete:
        return f"complete, by {status.executor} in {duration(status.run_s)}" if status.run_s else "complete"
    if not status.running:
        return "nobody is at work; `runrig campaign run` with the same plan and folder goes on"
    rate = status.rate_per_s
    if rate is None:
        return f"{status.executor}: starting"
    left = "" if status.eta_s is None else f", about {duration(status.eta_s)} left"
    return f"{status.executor}: {rate * 60:.1f} trials a minute{left}; longest silence {status.worst_lag_s:.1f} s"


def as_json(status: CampaignStatus) -> dict[str, Any]:
    """Return a campaign's state as strict JSON."""
    return {
        "folder": status.folder, "name": status.name, "registration": status.registration or None,
        "trials": status.trials, "ended": status.ended, "complete": status.complete,
        "states": {state.value: status.states.get(state, 0) for state in State},
        "outcomes": dict(status.outcomes), "causes": dict(status.causes), "running": status.running,
        "executor": status.executor, "rate_per_s": status.rate_per_s, "eta_s": status.eta_s,
        "worst_lag_s": status.worst_lag_s, "under_way": [asdict(lease) for lease in status.leases],
    }  # fmt: skip


class LiveBoard(Observer):
    """Shows a campaign while its coordinator runs here; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "LiveBoard":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def ended(self, entry: Entry, result: Returned) -> None:
        """Say so at once when it was the rig's fault, or cannot be known."""
        if entry.physical and result.ended.state is State.INDETERMINATE:
            self._console.print(
                f"[bold red]INDETERMINATE[/] {entry.trial_id}: {result.ended.reason}; look at the bench"
            )

    def interrupted(self, times: int) -> None:
        """Say what happens now."""
        self._console.print(
            "Finishing the trials under way; once more to cut them off."
            if times == 1
            else "Cutting them off."
        )

    def changed(self, status: Callable[[], CampaignStatus]) -> None:
        """Show how things stand."""
        self._live.update(render(status()))
