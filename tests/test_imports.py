"""Our names resolve to our files, whatever else is installed, and importing them costs little."""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from rig.cli import PACKAGES, check_packages
from rig.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", PACKAGES)
def test_import_resolves_inside_the_repository(name: str) -> None:
    spec = importlib.import_module(name).__spec__
    assert spec is not None and spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT), f"{name} is shadowed by {spec.origin}"


def test_rig_itself_imports_nothing() -> None:
    code = (ROOT / "rig" / "__init__.py").read_text()
    assert "import " not in code.split('"""', 2)[2]


def test_a_stranger_s_package_of_our_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = tmp_path / "tasks" / "__init__.py"
    stranger.parent.mkdir()
    stranger.write_text("")
    real = importlib.util.find_spec

    def find(name: str) -> object:
        return importlib.util.spec_from_file_location(name, stranger) if name == "tasks" else real(name)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(ConfigError, match=r"tasks resolves to .*outside"):
        check_packages()


@pytest.mark.parametrize("heavy", ["mujoco", "numba", "scipy", "matplotlib", "cv2", "pint", "cryptography"])
def test_help_loads_nothing_heavy(heavy: str) -> None:
    code = f"import sys; from rig.cli import run; run(['--help']); sys.exit({heavy!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, f"runrig --help imports {heavy}"
