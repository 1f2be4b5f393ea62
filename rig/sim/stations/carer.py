"""The human carer: whether one has been called, and whether one is there."""

from rig.sim.station import Station

STATION = Station(
    name="carer",
    text="call system and the human carer who may come",
    body=("call.level", "carer.present"),
    shown_as={"truth.carer": "carer.present", "truth.call": "call.level"},
)
