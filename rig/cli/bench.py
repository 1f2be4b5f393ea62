"""`runrig bench`: what a bench measures and what it can move."""

from rich.console import Console
from rich.table import Table

from rig.core.bench import bench_names, load_bench


def list_benches() -> int:
    """Print every bench that comes with the project."""
    table = Table("Bench", "Embodiment", "Channels", "Actuators", "In words", title="Benches")
    for name in bench_names():
        bench = load_bench(name)
        table.add_row(name, bench.embodiment, str(len(bench.layout)), str(len(bench.actuators)), bench.text)
    Console().print(table)
    return 0


def show_bench(name: str) -> int:
    """Print one bench: actuators and channels with ranges, rates and audiences."""
    bench = load_bench(name)
    console = Console()
    console.print(
        f"[bold]{bench.name}[/bold]  {bench.text}\nembodiment {bench.embodiment}, digest {bench.digest[:16]}"
    )
    actuators = Table("Actuator", "Unit", "Range", "Rate", "In words")
    for a in bench.actuators:
        actuators.add_row(a.name, a.unit, f"{a.low:g} to {a.high:g}", f"{a.rate:g}/s", a.text)
    channels = Table("Channel", "Unit", "Range", "Every", "Stale after", "Seen by", "In words")
    for c in bench.layout:
        channels.add_row(
            c.name, c.unit, f"{c.low:g} to {c.high:g}", f"{c.period_s:g} s", f"{c.stale_after_s:g} s",
            c.audience.value, c.text,
        )  # fmt: skip
    console.print(actuators, channels)
    return 0
