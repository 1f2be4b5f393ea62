"""Body regions as explicit springs: force is stiffness times displacement, whatever the time step."""

import math

import mujoco


def fit_spring(
    model: mujoco.MjModel, joint_name: str, stiffness: float, damping_ratio: float, servo: str = ""
) -> None:
    """Give a pad's slide joint its stiffness (N/m), and the damping that goes with the pad's mass.

    Args:
        model: The loaded scene.
        joint_name: The joint the pad slides on.
        stiffness: Of the region.
        damping_ratio: Of spring and pad.
        servo: Actuator that is the spring, for a pad whose resting place moves.

    Raises:
        KeyError: If the scene has no such joint or actuator.
    """
    joint = model.joint(joint_name)
    mass = float(model.body_mass[joint.bodyid[0]])
    model.dof_damping[joint.dofadr[0]] = 2.0 * damping_ratio * math.sqrt(stiffness * mass)
    if servo:
        actuator = model.actuator(servo).id
        model.actuator_gainprm[actuator, 0] = stiffness
        model.actuator_biasprm[actuator, 1] = -stiffness
    else:
        model.jnt_stiffness[joint.id] = stiffness
