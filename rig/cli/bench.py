"""`runrig bench`: what a bench measures and what it can move."""

from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from rig.core.bench import BenchSpec, bench_names, load_bench
from rig.core.channel import Audience


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
    console.print(_drawing(bench))
    if bench.calibrations:
        console.print(_calibrations(bench))
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


def _drawing(bench: BenchSpec) -> Tree:
    """Draw who speaks to what, down to every actuator and channel that has a wire."""
    tree = Tree(f"[bold]{bench.name}[/bold]: agent -> gate -> controller; monitor beside it")
    wired: set[str] = set()
    for d in bench.devices:
        where = d.address + (f" unit {d.unit}" if d.driver == "modbus" else "")
        branch = tree.add(
            f"[bold]{d.name}[/bold]  {d.driver} at {where}, alone for {d.heartbeat_ns / 1e6:.0f} ms at most"
        )
        if d.monitor_address:
            branch.add(f"monitor's own port: {d.monitor_address}")
        branch.add("moves: " + (", ".join(d.actuators) or "nothing"))
        branch.add("measures: " + (", ".join(d.channels) or "nothing"))
        wired |= {*d.actuators, *d.channels}
    rest = [c.name for c in bench.layout if c.name not in wired and c.name not in bench.intents]
    by = {a: [n for n in rest if bench.layout[n].audience is a] for a in Audience}
    world = tree.add(
        f"[bold]world[/bold]  {bench.scene or 'no scene'}"
        + ("" if bench.devices else ", with everything in it")
    )
    for audience, names in by.items():
        if names:
            world.add(f"{audience.value}: {', '.join(names)}")
    return tree


def _calibrations(bench: BenchSpec) -> Table:
    table = Table("Channel", "Gain", "Offset", "Holds until", "Certificate", title="Calibrations")
    for c in bench.calibrations:
        table.add_row(
            c.channel,
            f"{c.gain:g}",
            f"{c.offset:g}",
            c.expires.isoformat(),
            f"{c.certificate} ({c.sha256[:8]})",
        )
    return table
