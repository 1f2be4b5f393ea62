"""Generated kernels on disk: a module file named by the hash of everything its machine code depends on.

numba's own cache beside the file does the rest; it does not see changes in other modules, which is
why a kernel imports none of ours and why its name covers compiler versions and processor.
"""

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import cast

import llvmlite
import llvmlite.binding as llvm
import numba

from rig.core.watch import KernelFunction


def cache_dir() -> Path:
    """Return where generated kernels are kept, created; a temporary folder if that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "runrig" / "monitor"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return _temporary()


@lru_cache(maxsize=1)
def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="runrig-monitor-"))


def kernel_name(source: str) -> str:
    """Return the module name for a kernel's source on this machine."""
    host = [
        source,
        numba.__version__,
        llvmlite.__version__,
        platform.python_version(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    ]
    return "runrig_monitor_" + hashlib.sha256("\0".join(host).encode()).hexdigest()[:32]


def is_cached(source: str) -> bool:
    """Return whether the kernel is compiled already, so that loading takes milliseconds."""
    return any((cache_dir() / "__pycache__").glob(f"{kernel_name(source)}.step-*.nbc"))


def load_kernel(source: str) -> KernelFunction:
    """Return the kernel of a generated module, compiling it (seconds) where it is not cached."""
    return cast(KernelFunction, load_module(source).step)


def load_module(source: str) -> ModuleType:
    """Return a generated module, written where it is not there yet."""
    return _load(source, kernel_name(source))


@lru_cache(maxsize=64)
def _load(source: str, name: str) -> ModuleType:
    path = cache_dir() / f"{name}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != source:
        _write(path, source)
    return _imported(name, path)


def _write(path: Path, source: str) -> None:
    """Write in one step: another process may be writing the same kernel."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8"
    ) as file:
        file.write(source)
    Path(file.name).replace(path)


def _imported(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks the module up by name when it reads its cache
    spec.loader.exec_module(module)
    return module
