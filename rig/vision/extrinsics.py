"""Where a camera is on its bench, from one picture of tags whose places on the bench are measured."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from rig.core.data import hardware_file
from rig.core.errors import ConfigError, UsageError
from rig.core.toml_file import Table, load_validated
from rig.vision.calibration import VALID_DAYS, Intrinsics, Matrix
from rig.vision.face import Extrinsics, Tag, TagTable
from rig.vision.frame import Picture
from rig.vision.markers import Pose, find_tags

FEWEST: Final = 3  # tags: one too many, so that a wrongly measured one shows
WORST_PX: Final = 1.5  # root mean square reprojection error over all corners
WORST_TAG_PX: Final = 3.0


class _BenchMarkers(Table):
    text: str
    tag: dict[str, TagTable]


@cache
def bench_markers(path: Path | None = None) -> Mapping[str, Tag]:
    """Return the tags fixed to a bench, by name; those of ``hardware/markers/bench.toml`` by default.

    Raises:
        ConfigError: If the file says something that cannot be.
    """
    file = load_validated(path or hardware_file("markers", "bench.toml"), _BenchMarkers)
    return {name: tag.on("world") for name, tag in file.tag.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where a camera is, and how well that fits.

    Attributes:
        extrinsics: Where it is.
        error_px: Root mean square reprojection error over all corners.
        tags: The tags that were seen, and the error of each, pixels.
    """

    extrinsics: Extrinsics
    error_px: float
    tags: Mapping[str, float]


def seen_of(picture: Picture, camera: Intrinsics, tags: Mapping[str, Tag]) -> dict[int, Pose]:
    """Return the bench's tags that are seen in a picture, by number.

    A lens found a moment ago is still some tenths of a pixel off at the rim, and what several tags say together
    tells one that is covered: each by itself need not fit as well as one that is relied on alone.
    """
    sides_m = {tag.number: tag.side_m for tag in tags.values()}
    return find_tags(picture, camera, sides_m, worst_px=WORST_TAG_PX)


def locate(found: Mapping[int, Pose], camera: Intrinsics, tags: Mapping[str, Tag]) -> Located:
    """Find out where a camera is from the bench's tags as they are seen.

    Args:
        found: The tags that are seen, by number (`seen_of`).
        camera: Its lens.
        tags: Where the bench's tags are.

    Raises:
        UsageError: If too few are seen, or they do not fit; says which and what to do.
    """
    seen = {name: tag for name, tag in tags.items() if tag.number in found}
    if len(seen) < FEWEST:
        missing = ", ".join(f"{name} (tag {tags[name].number})" for name in tags if name not in seen)
        raise UsageError(
            f"{len(seen)} of {len(tags)} bench tags seen, {FEWEST} needed; not seen: {missing}. "
            f"Uncover and light them, and turn the camera so that they are in the picture"
        )
    points = np.concatenate([_corners(tag) for tag in seen.values()])
    pixels = np.concatenate([found[tag.number].corners for tag in seen.values()])
    ok, turn, move = cv2.solvePnP(
        points, pixels, camera.matrix, camera.coefficients, flags=cv2.SOLVEPNP_SQPNP
    )
    if not ok:
        raise UsageError("the bench tags fit no place of the camera; measure where they are again")
    turn, move = cv2.solvePnPRefineLM(points, pixels, camera.matrix, camera.coefficients, turn, move)
    there, _ = cv2.projectPoints(points, turn, move, camera.matrix, camera.coefficients)
    errors = np.sum((there.reshape(-1, 2) - pixels) ** 2, axis=1).reshape(-1, 4).mean(axis=1)
    each = {name: float(np.sqrt(e)) for name, e in zip(seen, errors, strict=True)}
    total = float(np.sqrt(errors.mean()))
    if not (total <= WORST_PX and max(each.values()) <= WORST_TAG_PX):
        worst = max(each, key=lambda name: each[name])
        raise UsageError(
            f"the bench tags do not fit: {total:.1f} px, at most {WORST_PX}; worst is {worst} with {each[worst]:.1f} px. "
            f"Measure where it is again, and that it is flat and the right one"
        )
    to_camera: Matrix = np.asarray(cv2.Rodrigues(turn)[0], np.float64)
    position = -to_camera.T @ np.ravel(move).astype(np.float64)
    return Located(extrinsics=Extrinsics(to_camera.T, position), error_px=total, tags=each)


def _corners(tag: Tag) -> Matrix:
    """Return a tag's corners on the bench in the order in which they are found: upper left first, clockwise."""
    h = tag.side_m / 2.0
    own = np.array([[-h, h, 0.0], [h, h, 0.0], [h, -h, 0.0], [-h, -h, 0.0]])
    return np.asarray(tag.at_m + own @ tag.axes.T)


def save_extrinsics(path: Path, found: Located, now: datetime) -> None:
    """Write where a camera is, when that was measured and until when it holds, with its digest."""
    values = {
        "rotation": found.extrinsics.rotation.tolist(), "position_m": found.extrinsics.position_m.tolist(),
        "error_px": found.error_px, "tags": dict(found.tags),
        "located_utc": now.astimezone(UTC).isoformat(timespec="seconds"),
        "expires_utc": (now.astimezone(UTC) + timedelta(days=VALID_DAYS)).isoformat(timespec="seconds"),
    }  # fmt: skip
    text = json.dumps({**values, "sha256": _digest(values)}, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def load_extrinsics(path: Path, now: datetime) -> Extrinsics:
    """Return where a camera is.

    Raises:
        UsageError: If there is no such file, or it has expired.
        ConfigError: If it holds no rotation and position, or was changed after it was made.
    """
    try:
        values = json.loads(path.read_text())
        stated, expires = values.pop("sha256"), datetime.fromisoformat(values["expires_utc"])
        turn, position = np.array(values["rotation"], np.float64), np.array(values["position_m"], np.float64)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; make one with `runrig bench calibrate-camera`") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(str(path), [f"is no place of a camera: {error}"]) from None
    if turn.shape != (3, 3) or position.shape != (3,) or not np.allclose(turn @ turn.T, np.eye(3), atol=1e-6):
        raise ConfigError(str(path), ["its rotation is none"])
    if _digest(values) != stated:
        raise ConfigError(str(path), ["was changed after it was made; locate the camera again"])
    if now > expires:
        raise UsageError(f"{path}: expired {values['expires_utc']}; locate the camera again")
    return Extrinsics(turn, position)
