"""Firmware images, built from `hardware/firmware` when they are first needed and kept in a cache.

The cache (``$XDG_CACHE_HOME/runrig/firmware``) is keyed by a digest of every source file, so an image is
always of these sources.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from rig.core.data import hardware_dir
from rig.core.errors import RigFault

HOST, LIBRARY, QEMU, NUCLEO = "node", "libnode.so", "lm3s6965evb.elf", "nucleo_f103rb.elf"
CHECKS = "test_core"
TARGETS = {HOST: "cc", LIBRARY: "cc", CHECKS: "cc", QEMU: "arm-none-eabi-gcc", NUCLEO: "arm-none-eabi-gcc"}
PACKAGES = {
    "make": "make",
    "cc": "gcc",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
"""Debian packages of the tools."""


def why_no_tool(*tools: str) -> str | None:
    """Return which of the tools is missing and how to get it, None when all are there."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not missing:
        return None
    packages = " ".join(PACKAGES.get(tool, tool) for tool in missing)
    return f"not on this machine: {', '.join(missing)} (as root: apt-get install {packages})"


@lru_cache(maxsize=2)
def sources_digest(*, tests: bool = True) -> str:
    """Return the SHA-256 over every source file of the firmware, names included; of its tests if wanted."""
    root, total = hardware_dir() / "firmware", hashlib.sha256()
    left_out = {"build"} if tests else {"build", "tests"}
    for path in sorted(p for p in root.rglob("*") if p.is_file() and not left_out & {*p.parts}):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def build_number() -> int:
    """Return what a node built of these sources says it is: the first 32 bits of their digest."""
    return int(sources_digest(tests=False)[:8], 16)


def image(target: str) -> Path:
    """Return a product of the firmware's Makefile, built if it is not in the cache.

    Raises:
        RigFault: If a tool is missing or the sources do not build; says what to do.
    """
    if problem := why_no_tool("make", TARGETS[target]):
        raise RigFault(f"firmware {target} cannot be built: {problem}")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "runrig" / "firmware"
    folder = cache / sources_digest()[:16]
    if (folder / target).exists():
        return folder / target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as out:  # so that two processes do not build into one file
        done = subprocess.run(
            ["make", "--silent", "-C", str(hardware_dir() / "firmware"), f"OUT={out}",
             f"BUILD={build_number():#010x}", f"{out}/{target}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RigFault(f"firmware {target} does not build:\n{done.stderr.strip()}")
        (Path(out) / target).replace(folder / target)
    return folder / target
