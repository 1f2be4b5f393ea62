"""Where the bench files, scenes and limits live: ``hardware/`` of a checkout or of an installation."""

from importlib.resources import files
from pathlib import Path

from rig.core.errors import UsageError


def hardware_dir() -> Path:
    """Return the folder of hardware data.

    In a wheel it lies inside the package (``rig/hardware``), in a checkout beside it.

    Raises:
        UsageError: If it is in neither place: the installation is incomplete.
    """
    package = Path(str(files("rig")))
    for folder in (package / "hardware", package.parent / "hardware"):
        if (folder / "benches").is_dir():
            return folder
    raise UsageError(
        f"no hardware data in {package / 'hardware'} or {package.parent / 'hardware'}; install runrig again"
    )


def hardware_file(kind: str, name: str) -> Path:
    """Return the path of ``hardware/<kind>/<name>``.

    Raises:
        UsageError: If there is no such file; the message lists those there are.
    """
    folder = hardware_dir() / kind
    path = folder / name
    if not path.is_file():
        known = sorted(p.name for p in folder.glob(f"*{path.suffix}"))
        raise UsageError(f"no file {name!r} in hardware/{kind}; there are: {', '.join(known) or 'none'}")
    return path


def scene_files(scene: str, tool: str = "") -> tuple[str, str, dict[str, bytes]]:
    """Return a scene of the physics engine: its path, its text, and the files it may include.

    Args:
        scene: File in ``hardware/scenes``.
        tool: What is fitted to the arm: ``hardware/scenes/tools/TOOL.xml``, which scenes include as
            ``tool.xml``; empty for none.

    Raises:
        UsageError: If there is no such scene or tool; the message lists those there are.
    """
    path = hardware_file("scenes", scene)
    included = {p.name: p.read_bytes() for p in path.parent.glob("parts/*.xml")}
    if tool:
        included["tool.xml"] = hardware_file("scenes/tools", f"{tool}.xml").read_bytes()
    return str(path), path.read_text(), included
