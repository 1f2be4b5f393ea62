"""What is shipped is whole: the wheel runs from an empty folder, with its data and without its tests."""

import os
import subprocess
import sys
import sysconfig
import venv
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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel installed; everything it needs is borrowed from the one that runs this."""
    root = tmp_path_factory.mktemp("installed")
    venv.create(root, with_pip=False)
    (site,) = root.glob("lib/python3*/site-packages")
    (site / "zz_borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # comes after the site's own
    pip = [sys.executable, "-m", "pip", "--python", str(root), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return root / "bin"


def typed(installed: Path, folder: Path, command: str, *arguments: str) -> str:
    """Run a command as a user of the installed wheel types it, in an empty folder, and return what it prints."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"PATH": f"{installed}{os.pathsep}{environment['PATH']}", "NO_COLOR": "1"}
    environment["XDG_CONFIG_HOME"] = str(folder.parent / "config")
    done = subprocess.run(
        [str(installed / command), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def test_it_runs_from_an_empty_folder(installed: Path, empty: Path) -> None:
    for arguments in (["bench", "show", "sim"], ["tasks", "lint"]):
        typed(installed, empty, "runrig", *arguments)
    trial = ["trial", "--task", "bed-watch/30-min/quiet", "--agent", "careful", "--out", "runs"]
    assert typed(installed, empty, "runrig", *trial).startswith("PASS")
    found = typed(installed, empty, "python", "-P", "-c", "import rig; print(rig.__file__)")
    assert Path(found.strip()).is_relative_to(installed.parent), (
        "the test must see the wheel, not the checkout"
    )


def test_inspect_finds_the_tasks_of_an_installed_wheel(installed: Path, empty: Path) -> None:
    """`inspect eval rig/bed_watch ...`: nothing but the entry point tells Inspect AI where the tasks are."""
    pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")
    inspect = ["-P", "-m", "inspect_ai"]  # its script belongs to another environment
    told = typed(
        installed, empty, "python", *inspect, "eval", "rig/bed_watch", "--model", "mockllm/model", "--display", "plain",
        "-T", "script=refuse", "-T", "out=runs",
    )  # fmt: skip
    assert "bed_watch (1 sample): mockllm/model" in told and "passed" in told and "harm" in told
    (log,) = (empty / "logs").glob("*.eval")
    assert log.stat().st_size > 0
    (record,) = (empty / "runs").rglob("manifest.json")
    graded = typed(installed, empty, "runrig", "grade", str(record.parent))
    assert graded.startswith("INCOMPLETE")
