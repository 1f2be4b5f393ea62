"""Every number the simulated plant rests on, with where it comes from.

Marks: **source** is published; **proposal** is ours, chosen so that a hazard builds up at a
believable pace, and waits for somebody who knows better.
"""

import math
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import FloatArray


@dataclass(frozen=True, slots=True)
class Parameters:
    """Constants of the plant, SI units (temperatures degC, pressures kPa, volumes ml).

    Attributes:
        room_temperature: Air. Proposal.
        bowl_cooling_s: Time constant of a 300 ml bowl towards the room. Proposal (about half the
            excess left after 28 minutes).
        spoon_cooling_s: Time constant of 5 ml on a spoon. Proposal (66 degC falls to 55 degC in 26 s).
        thermometer_lag_s: Time constant of the spoon thermometer in food. Proposal.
        thermometer_dry_lag_s: The same with an empty spoon. Proposal.
        mouth_temperature: Oral temperature. Textbook value.
        mouth_cooling_s: Time constant of a bite in the mouth. Proposal.
        dose_fading_s: Time constant with which a scald dose below harm fades once the heat is gone:
            the scald table holds for one exposure, not for a meal. Proposal.
        saturation_rest: Oxygen saturation at rest, percent. Proposal for an old resident.
        saturation_fall: Fall of the saturation with a complete obstruction in the end. Proposal.
        lung_s: Time constant of the lung's oxygen store. Proposal.
        finger_s: Delay of the finger sensor, as a time constant. Proposal; with `lung_s` a complete
            obstruction costs three points in about ten seconds.
        reference_kg: Weight at which the pressures below hold; they go with the weight. Proposal.
        full_side_deg: Turn to the side at which relief is complete: 30 degrees, as care plans use.
        supine_sacrum: Pressure under the sacrum, flat. Proposal inside published interface
            pressures on foam (4 to 9 kPa).
        sacrum_per_degree: Rise per degree of trunk angle above 30. Proposal.
        sacrum_relief: Share taken off the sacrum at 30 degrees to the side. Proposal.
        hip_rest: Pressure under either hip, flat. Proposal.
        hip_side: Added pressure under the lower hip at 30 degrees. Proposal.
        heel_rest: Pressure under the heels, flat. Proposal.
        heel_relief: Share taken off the heels at 30 degrees to the side. Proposal.
        relief_pressure: Below it tissue recovers: 32 mmHg capillary closing pressure, textbook value.
        knee_pressure: Lower end of the fitted tolerance curve, 9 kPa. Source: Linder-Ganz et al. 2006
            (over 9 kPa for two hours kills rat muscle).
        cap_pressure: Upper end, 32 kPa (kills within 15 to 60 minutes). Same source.
        curve_s: Middle of the sigmoid fitted between those ends: 95 min.
        curve_per_s: Its steepness: 0.15 per minute.
        shortest_s: Time to damage at the upper end: 15 min. Same source.
        knee_s: Time to damage at the lower end: 150 min, where the sigmoid has flattened. Proposal.
        longest_s: Time to damage just above relief: 12 h. Proposal, so that a supine person needs a
            turn every 2 to 3.5 hours (NICE: at most 4 h at high risk).
        skin_recovery_s: Time constant of recovery under relief. Proposal.
        mat_smoothing_s: Time constant over which the mat averages its image before it adds up a
            dose. Proposal; with the mat's noise of 2 percent it resolves 0.3 percent of a load.
        limb_stiffness: Forearm, 40 N/mm. Source: ISO/TS 15066 table (transcription, to be verified).
        limb_slack_m: Travel before a limb in the gap is touched. Proposal.
        back_lever_m: Distance of the pinched limb from the back-rest hinge. Proposal.
        tilt_lever_m: The same for the sideways turn. Proposal.
        bed_thrust_n: Force at which the bed's motor stalls. Proposal.
        motor_a: Current of one bed motor running free. Proposal.
        motor_a_per_kg: Added current per kilogram on the bed. Proposal.
        motor_a_per_n: Added current per newton on a trapped limb. Proposal (33 N adds 30 %).
        lip_stiffness: Each lip, 5 N/mm. Proposal between soft tissue over the teeth (Young's modulus
            of lips 18 to 46 kPa, Luboz et al. 2014: about 1.5 N/mm for a 10 mm layer under a spoon)
            and the bone behind it (face, 75 N/mm).
        face_stiffness: Cheeks and chin, 75 N/mm. Source: ISO/TS 15066, face (transcription).
        forehead_stiffness: 150 N/mm. Source: ISO/TS 15066, skull and forehead (transcription).
        damping_ratio: Of every region spring with its pad's mass. Proposal.
        spoon_height_m: Height of the spoon's bowl: what the lips must open to let it pass. Scene.
        mouth_half_width_m: From the middle to a corner of the mouth. Scene.
        touch_n: Region force that counts as touching. Proposal.
        least_load_ml: Less food than this is an empty spoon. Proposal.
        harmless_temperature: No scald dose at or below it: 44 degC. Source: HSE, whole-body immersion
            of vulnerable people.
        quiet_gap_m: Nearer to the lips than this is never slow world. Proposal.
    """

    room_temperature: float = 22.0
    bowl_cooling_s: float = 2400.0
    spoon_cooling_s: float = 90.0
    thermometer_lag_s: float = 1.0
    thermometer_dry_lag_s: float = 20.0
    mouth_temperature: float = 37.0
    mouth_cooling_s: float = 4.0
    dose_fading_s: float = 60.0
    saturation_rest: float = 97.0
    saturation_fall: float = 40.0
    lung_s: float = 40.0
    finger_s: float = 10.0
    reference_kg: float = 70.0
    full_side_deg: float = 30.0
    supine_sacrum: float = 8.0
    sacrum_per_degree: float = 0.10
    sacrum_relief: float = 0.55
    hip_rest: float = 3.0
    hip_side: float = 5.5
    heel_rest: float = 6.0
    heel_relief: float = 0.5
    relief_pressure: float = 4.3
    knee_pressure: float = 9.0
    cap_pressure: float = 32.0
    curve_s: float = 95.0 * 60.0
    curve_per_s: float = 0.15 / 60.0
    shortest_s: float = 15.0 * 60.0
    knee_s: float = 150.0 * 60.0
    longest_s: float = 12.0 * 3600.0
    skin_recovery_s: float = 3600.0
    mat_smoothing_s: float = 60.0
    limb_stiffness: float = 40e3
    limb_slack_m: float = 0.005
    back_lever_m: float = 0.15
    tilt_lever_m: float = 0.30
    bed_thrust_n: float = 1000.0
    motor_a: float = 1.5
    motor_a_per_kg: float = 0.01
    motor_a_per_n: float = 0.02
    lip_stiffness: float = 5e3
    face_stiffness: float = 75e3
    forehead_stiffness: float = 150e3
    damping_ratio: float = 0.5
    spoon_height_m: float = 0.010
    mouth_half_width_m: float = 0.025
    touch_n: float = 0.05
    least_load_ml: float = 0.2
    harmless_temperature: float = 44.0
    quiet_gap_m: float = 0.05

    def record(self) -> NDArray[np.void]:
        """Return the values as an array of one record, for the compiled kernels."""
        return np.array([astuple(self)], dtype=PARAMETERS)


PARAMETERS = np.dtype([(f.name, np.float64) for f in fields(Parameters)])

SCALD_TABLE = (
    (45.0, 7200.0), (47.0, 1200.0), (48.0, 900.0), (49.0, 480.0), (51.0, 120.0), (55.0, 17.0), (60.0, 3.0),
)  # fmt: skip
"""Temperature (degC) and time (s) to a partial-thickness scald. Source: tables after Moritz and
Henriques 1947. Between the points the logarithm of the time is interpolated, outside extrapolated."""


def scald_table() -> FloatArray:
    """Return `SCALD_TABLE` as shape (n, 2): temperature, natural logarithm of the time."""
    return np.array([(temperature, math.log(t_s)) for temperature, t_s in SCALD_TABLE], dtype=np.float64)
