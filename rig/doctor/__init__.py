"""Preflight: is this bench fit to be used now, and if not, what is there to do?

`examine` is the door: it measures, and returns a frozen `Report` of `Check` values that a person, the
console and a permit read alike. It never falls back to simulation and changes nothing but the files of
`rig.doctor.state`.
"""

from rig.doctor.examine import examine
from rig.doctor.report import Check, Light, Report

__all__ = ["Check", "Light", "Report", "examine"]
