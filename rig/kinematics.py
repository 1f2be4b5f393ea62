"""Where the tool goes when joints turn, and which joint angles bring it somewhere.

Computed on the scene's own model, so that arm, named places and plant cannot disagree. The tool
points along the x axis of its tip and carries what it carries on its z side, so a pose is a point and
a direction: of all rotations about that direction the one that keeps that side uppermost is taken.

A scene names places by sites ``place_NAME``. Which of them are on a person's skin, and from where each
is approached, it says in a custom text: ``<text name="contacts" data="lips=near_mouth"/>``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, Slerp

from rig.core.channel import FloatArray
from rig.core.data import scene_files
from rig.core.errors import ConfigError, UsageError, unknown

JOINTS = ("arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon")
Posture = Mapping[str, float]
"""How the person is: joints of the scene (rad, m) that move places with them; the rest are at zero."""

_NEAR_M, _NEAR_RAD = 2e-5, 2e-4  # a solution is at least this good
_DAMPING = 0.02  # keeps steps bounded near singular poses
_ITERATIONS = 100
_LONGEST_STEP_RAD = 0.3
_STOP_MARGIN_RAD = 0.1  # distance kept from the joints' end stops
_WAYPOINT_M, _WAYPOINT_RAD = 0.02, 0.10
_PEAK = 1.875  # peak speed of a minimum-jerk move over its mean speed
_TURN_RATE_RAD_S = 1.5


@dataclass(frozen=True, slots=True)
class Pose:
    """Where the tool's tip is (m) and where it points (unit vector); each of shape (3,)."""

    position: FloatArray
    approach: FloatArray


class _Joint(Protocol):
    qposadr: Sequence[int]
    dofadr: Sequence[int]
    range: Sequence[float]


def _upright(approach: FloatArray) -> FloatArray:
    """Return the rotation matrix whose x axis is ``approach`` and whose z axis is most upright."""
    x = approach / np.linalg.norm(approach)
    z = np.array([0.0, 0.0, 1.0]) - x[2] * x
    if np.linalg.norm(z) < 1e-6:
        raise UsageError("the tool cannot point straight up or down: it would have no uppermost side")
    z /= np.linalg.norm(z)
    rotation: FloatArray = np.column_stack([x, np.cross(z, x), z])
    return rotation


def smooth(share: FloatArray) -> FloatArray:
    """Return the minimum-jerk course from 0 to 1 for times as a share of the whole.

    >>> smooth(np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    course: FloatArray = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    return course


def _places(model: mujoco.MjModel) -> tuple[str, ...]:
    names = (model.site(i).name for i in range(model.nsite))
    return tuple(n.removeprefix("place_") for n in names if n.startswith("place_"))


def _contacts(model: mujoco.MjModel, places: Sequence[str]) -> Mapping[str, str]:
    text = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TEXT, "contacts")
    if text < 0:
        return {}
    start, size = model.text_adr[text], model.text_size[text]
    said = bytes(model.text_data[start : start + size - 1]).decode()
    contacts = dict(pair.split("=", 1) for pair in said.split())
    if strange := {*contacts, *contacts.values()} - {*places}:
        raise KeyError(f"contacts: {', '.join(sorted(strange))} is no place of the scene")
    return contacts


class Kinematics:
    """The arm of one scene: poses from joint angles and joint angles for poses.

    Joint angles are in radians, in the order of `JOINTS`, shape (6,).

    Attributes:
        places: Names of the places.
        contacts: For each place on a person's skin, the place from which it is approached.
        rest: Joint angles at rest.
        low: Smallest joint angles used.
        high: Largest joint angles used.

    Args:
        scene: File in ``hardware/scenes``.
        tool: What is fitted to the arm.
    """

    def __init__(self, scene: str = "bedside.xml", tool: str = "spoon") -> None:
        path, text, assets = scene_files(scene, tool)
        try:
            self._model = mujoco.MjModel.from_xml_string(text, assets)
            joints: list[_Joint] = [self._model.joint(name) for name in JOINTS]
            self._tip = self._model.site("tool_tip").id
            rest = self._model.key("rest").qpos
            self.places = _places(self._model)
            self.contacts = _contacts(self._model, self.places)
        except (ValueError, KeyError) as error:
            raise ConfigError(path, [f"not a scene with this arm: {error}"]) from None
        self._data = mujoco.MjData(self._model)
        self._address = np.array([int(j.qposadr[0]) for j in joints])
        self._column = np.array([int(j.dofadr[0]) for j in joints])
        self.low: FloatArray = np.array([j.range[0] for j in joints]) + _STOP_MARGIN_RAD
        self.high: FloatArray = np.array([j.range[1] for j in joints]) - _STOP_MARGIN_RAD
        self.rest: FloatArray = np.array(rest[self._address], dtype=np.float64)
        self._jacobian = np.zeros((6, self._model.nv))

    def place(self, name: str, posture: Posture | None = None) -> Pose:
        """Return a named place; those on a person move with the person.

        Raises:
            UsageError: If there is no such place; the message lists those there are.
        """
        if name not in self.places:
            raise unknown("place", name, self.places)
        self._stand(posture or {})
        mujoco.mj_kinematics(self._model, self._data)
        site = self._data.site(f"place_{name}")
        return Pose(site.xpos.copy(), site.xmat.reshape(3, 3)[:, 0].copy())

    def moves(self, joint: str) -> bool:
        """Return whether places move with a joint of this name."""
        return bool(mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_JOINT, joint) >= 0)

    def _stand(self, posture: Posture) -> None:
        self._data.qpos[:] = 0.0
        for joint, value in posture.items():
            self._data.qpos[self._model.joint(joint).qposadr[0]] = value

    def pose(self, joints: FloatArray) -> Pose:
        """Return where the tool is and points to with these joint angles."""
        position, rotation = self._forward(joints)
        return Pose(position.copy(), rotation[:, 0].copy())

    def solve(self, target: Pose, start: FloatArray) -> FloatArray:
        """Return joint angles that bring the tool to ``target``, found from ``start`` on.

        Damped least squares inside the joints' range.

        Raises:
            UsageError: If the pose is out of reach.
        """
        return self._solve(target.position, _upright(target.approach), start)

    def path(self, start: FloatArray, target: Pose, *, speed_m_s: float, period_s: float) -> FloatArray:
        """Return setpoints that move the tip to ``target`` on a straight line, smoothly.

        Args:
            start: Joint angles to start from (setpoints, not measured ones).
            target: Where to.
            speed_m_s: Largest speed of the tip; turns on the spot are limited too.
            period_s: Time between two rows.

        Returns:
            Shape (n, 6), n at least 1; the last row is the target. The start is not among them.

        Raises:
            UsageError: If any point of the line is out of reach or the speed is not positive.
        """
        if not (speed_m_s > 0.0 and period_s > 0.0):
            raise UsageError(f"speed {speed_m_s} m/s and period {period_s} s must be positive")
        position, rotation = (a.copy() for a in self._forward(start))
        way = target.position - position
        both = Rotation.from_matrix(np.stack([rotation, _upright(target.approach)]))
        turn_rad = float((both[0].inv() * both[1]).magnitude())
        distance_m = float(np.linalg.norm(way))
        segments = max(2, int(np.ceil(distance_m / _WAYPOINT_M)), int(np.ceil(turn_rad / _WAYPOINT_RAD)))
        shares = np.linspace(0.0, 1.0, segments + 1)
        rotations = Slerp([0.0, 1.0], both)(shares).as_matrix()
        joints = [np.asarray(start, dtype=np.float64)]
        for share, turned in zip(shares[1:], rotations[1:], strict=True):
            joints.append(self._solve(position + share * way, turned, joints[-1]))
        duration_s = _PEAK * max(distance_m / speed_m_s, turn_rad / _TURN_RATE_RAD_S, period_s)
        n = int(np.ceil(duration_s / period_s))
        course = CubicSpline(shares, np.array(joints))
        rows: FloatArray = course(smooth(np.arange(1, n + 1) / n))
        rows[-1] = joints[-1]
        return rows

    def _forward(self, joints: FloatArray) -> tuple[FloatArray, FloatArray]:
        self._data.qpos[self._address] = joints
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.site_xpos[self._tip], self._data.site_xmat[self._tip].reshape(3, 3)

    def _solve(self, position: FloatArray, rotation: FloatArray, start: FloatArray) -> FloatArray:
        model, data, jacobian = self._model, self._data, self._jacobian
        joints = np.clip(np.asarray(start, dtype=np.float64), self.low, self.high)
        error = np.empty(6)
        for _ in range(_ITERATIONS):
            at, axes = self._forward(joints)
            error[:3] = position - at
            # Small-angle rotation vector: half the sum of the cross products of the axes.
            error[3:] = 0.5 * np.cross(axes, rotation, axis=0).sum(axis=1)
            if np.abs(error[:3]).max() < _NEAR_M and np.abs(error[3:]).max() < _NEAR_RAD:
                if np.trace(axes.T @ rotation) > 0.0:
                    return joints
                error[3:] = 0.5  # exactly the wrong way round: turn out of it
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], self._tip)
            j = jacobian[:, self._column]
            step = j.T @ np.linalg.solve(j @ j.T + _DAMPING**2 * np.eye(6), error)
            step *= min(1.0, _LONGEST_STEP_RAD / max(float(np.abs(step).max()), 1e-12))
            joints = np.clip(joints + step, self.low, self.high)
        where = ", ".join(f"{x:.3f}" for x in position)
        raise UsageError(f"the tool cannot reach ({where}) m: {np.linalg.norm(error[:3]) * 1e3:.1f} mm short")
