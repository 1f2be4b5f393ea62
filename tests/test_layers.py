"""The import contracts of pyproject.toml hold, and they can break."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def test_imports_point_down() -> None:
    done = subprocess.run([sys.executable, "-c", LINT], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def test_a_monitor_that_knows_a_task_breaks_the_contract(tmp_path: Path) -> None:
    for name in ("rig", "firmware_bridge", "tasks", "safety_monitor", "analysis"):
        for source in (ROOT / name).rglob("*.py"):
            copy = tmp_path / source.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    monitor = tmp_path / "safety_monitor" / "monitor.py"
    monitor.write_text(monitor.read_text() + "\nfrom tasks import suite\n")
    done = subprocess.run(
        [sys.executable, "-c", LINT], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1
    assert "safety_monitor.monitor -> tasks.suite" in done.stdout
