"""A cry of pain or fear; who gives it, and when, is the scripted person's affair."""

from rig.sim.station import Station

STATION = Station(
    name="distress",
    text="a person's cry of pain or fear, as a microphone hears it",
    body=("person.distress",),
)
