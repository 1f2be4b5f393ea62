"""What is shipped is whole: the wheel runs from an empty folder, with its data and without its tests."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


def test_it_holds_the_data_and_the_types_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "rig/hardware/benches/sim.toml", "rig/hardware/scenes/bedside.xml", "rig/hardware/scenes/parts/arm.xml", "rig/hardware/stations/arm.toml", "rig/hardware/limits/person.toml",
        "tasks/spoon_feed/rubric.toml", "safety_monitor/rules/spoon-feed.toml", "rig/py.typed",
        "rig/console/static/index.html", "rig/console/static/assets/app.js",
    ):  # fmt: skip
        assert needed in names
    assert not [
        n for n in names if n.startswith(("tests/", "hardware/")) or "/decisions/" in n or "/web/" in n
    ]


def test_it_runs_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    site, empty = tmp_path / "site", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(site)
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(site), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    trial = ["trial", "--task", "bed-watch/30-min/quiet", "--agent", "careful", "--out", "runs"]
    for arguments in (["bench", "show", "sim"], ["tasks", "lint"], trial):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rig.cli", *arguments],
            cwd=empty, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import rig; print(rig.__file__)"],
        cwd=empty, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(site), "the test must see the wheel, not the checkout"
