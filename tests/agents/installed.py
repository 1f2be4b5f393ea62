"""The checkout as an installation: what a client finds through entry points."""

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which this checkout looks installed, entry points included."""
    site = folder / "site-packages"
    info = site / "runrig-0.1.0.dist-info"
    info.mkdir(parents=True)
    for name in ("rig", "tasks", "analysis", "safety_monitor", "firmware_bridge", "hardware"):
        (site / name).symlink_to(ROOT / name)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: runrig\nVersion: 0.1.0\n")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items())
        for group, entries in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return {**os.environ, "PYTHONPATH": str(site), "NO_COLOR": "1"}
