"""The engine's own C functions, callable from compiled code without going through Python.

Loading this module makes libmujoco's symbols visible to numba. The engine's warnings are caught
here too: by default it appends them to a file in the working directory.
"""

import ctypes
from pathlib import Path

import llvmlite.binding as llvm
import mujoco
from numba import types

_warnings: list[str] = []


def _library() -> Path:
    folder = Path(mujoco.__file__).parent
    for pattern in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll"):
        if found := sorted(folder.glob(pattern)):
            return found[0]
    raise ImportError(f"no MuJoCo library in {folder}; install the mujoco package again")


_PATH = str(_library())
llvm.load_library_permanently(_PATH)


@ctypes.CFUNCTYPE(None, ctypes.c_char_p)
def _keep_warning(message: bytes) -> None:
    _warnings.append(message.decode(errors="replace"))


ctypes.c_void_p.in_dll(ctypes.CDLL(_PATH), "mju_user_warning").value = ctypes.cast(
    _keep_warning, ctypes.c_void_p
).value


def take_warnings() -> list[str]:
    """Return what the engine has warned of since the last call, and forget it."""
    taken = _warnings.copy()
    _warnings.clear()
    return taken


mj_step1 = types.ExternalFunction("mj_step1", types.void(types.intp, types.intp))
"""Position and velocity stages at the present state: kinematics, contacts, their sensors."""

mj_step2 = types.ExternalFunction("mj_step2", types.void(types.intp, types.intp))
"""Forces and integration to the next state. ``mj_step2`` then ``mj_step1`` repeated is `mj_step`,
bit for bit, but leaves positions and sensors belonging to the state just reached."""
