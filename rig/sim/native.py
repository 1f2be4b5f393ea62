"""The engine's own C functions, callable from compiled code without going through Python.

Loading this module makes libmujoco's symbols visible to numba. The engine's warnings are caught
here too: by default it appends them to a file in the working directory.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import mujoco
from numba import njit, types

Function = TypeVar("Function", bound=Callable[..., Any])

_warnings: list[str] = []


# Compiled code here allocates nothing and owns nothing: the caller keeps every array alive. Counting
# references in and out (`_nrt`) would cost a tenth of a tick.
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: Function) -> Function:
    """Compile a function that other compiled functions call."""
    return cast(Function, njit(**OPTIONS)(function))


def compiled_as(signature: types.Type) -> Callable[[Function], Function]:
    """Compile a function at import, with this signature, and keep it on disk."""

    def compile_now(function: Function) -> Function:
        return cast(Function, njit(signature, cache=True, **OPTIONS)(function))

    return compile_now


def _library() -> Path:
    folder = Path(mujoco.__file__).parent
    for pattern in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll"):
        if found := sorted(folder.glob(pattern)):
            return found[0]
    raise ImportError(f"no MuJoCo library in {folder}; install the mujoco package again")


_PATH = str(_library())
llvm.load_library_permanently(_PATH)


def _keep_warning(message: bytes) -> None:
    _warnings.append(message.decode(errors="replace"))


_callback = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(_keep_warning)  # kept alive for the engine
_handler = ctypes.c_void_p.in_dll(ctypes.CDLL(_PATH), "mju_user_warning")
_handler.value = ctypes.cast(_callback, ctypes.c_void_p).value


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
