"""Speed profiles of the spoon near a face, derived from the limits: what a skill does stays under what trips.

Every profile is a share of the trip limits, so that policy of the controller < trip of the monitor <
harm always holds; a limit that is lowered slows every skill with it.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from safety_monitor.limits import Limit, limit_files, load_limits

Profile = tuple[tuple[float, float], ...]
"""Speed limits of the spoon tip by distance to the lips: (nearer than, metres; metres per second)."""

LIPS_M = 0.022
"""Where lip speed begins: the 20 mm of the limit, and the noise of the camera that judges it."""
FACE_M = 0.110
"""Where approach speed begins: the 100 mm of the limit, and what the camera has not yet seen."""
SHARES: Mapping[str, float] = {"slow": 0.5, "normal": 0.75, "fast": 0.85}
"""Of the trip limit. What is left is more than servo overshoot and five deviations of the encoder's noise."""
FREE_SHARES: Mapping[str, float] = {"slow": 0.8, "normal": 1.0, "fast": 1.0}
"""Of the manual reduced speed of robots (the harm step of the approach limit), away from the face."""
INTO_MOUTH_SHARE = 0.625
OUT_SHARE = 0.4
"""Of the manual reduced speed, once the spoon is clear of the lips on its way back."""


@cache
def profiles() -> Mapping[str, Profile]:
    """Return the profiles under the limits that come with the project, by name."""
    return profiles_under(load_limits(limit_files()))


def profiles_under(limits: Mapping[str, Limit]) -> Mapping[str, Profile]:
    """Return the profiles an agent may ask for, and ``into_mouth`` and ``out_of_mouth``.

    Out of the mouth the policy of the lip limit holds: no rule stops a spoon that leaves.
    """
    lips, face = limits["lip_speed"], limits["approach_speed"]
    asked: dict[str, Profile] = {
        name: (
            (LIPS_M, share * lips.trip),
            (FACE_M, share * face.trip),
            (np.inf, FREE_SHARES[name] * face.harm),
        )
        for name, share in SHARES.items()
    }
    own: dict[str, Profile] = {
        "into_mouth": ((np.inf, INTO_MOUTH_SHARE * lips.trip),),
        "out_of_mouth": ((LIPS_M, lips.policy), (np.inf, OUT_SHARE * face.harm)),
    }
    return MappingProxyType(asked | own)
