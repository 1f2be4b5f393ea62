"""`runrig incident`: one mistake becomes a regression case, or a case is run again."""

from pathlib import Path

from rich.console import Console

from rig.cli.output import print_json
from rig.core.record import read
from rig.release.incident import case_values, minimise, replays, write_case


def make_case(record: Path, out: Path | None, as_json: bool) -> int:
    """Make the smallest case of a record's mistake and write its bundle."""
    found = read(record)
    case = minimise(found)
    folder = write_case(found, case, out or record.parent / "incidents")
    if as_json:
        print_json({**case_values(found, case), "folder": str(folder)})
        return 0
    console = Console()
    console.print(
        f"{', '.join(case.criteria)}: still shown by {case.item.key}, seed {case.spec.seed} ({case.runs} runs)."
    )
    for words in case.removed:
        console.print(f"  taken away without effect: {words}")
    if case.twin is None:
        console.print("  no harmless twin in its group")
    else:
        console.print(f"  twin {case.twin}: {'clean' if case.twin_clean else 'NOT clean'}")
    console.print(f"Bundle: {folder}\nAgain, after a change: runrig incident --again {folder}")
    return 0


def run_again(folder: Path, as_json: bool) -> int:
    """Run a case again; exit 1 while the mistake is still there."""
    there, clean = replays(folder)
    if as_json:
        print_json({"mistake": there, "twin_clean": clean})
    else:
        words = "the mistake is still there" if there else "the mistake is gone"
        twin = {True: "clean", False: "NOT clean", None: "none"}[clean]
        Console().print(f"{folder.name}: {words}; twin: {twin}")
    return 1 if there or clean is False else 0
