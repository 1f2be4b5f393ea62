"""What a person says and does that no piece of the plant reacts to: voice, refusal, sleep."""

from rig.sim.station import Station

STATION = Station(
    name="person",
    text="voice, refusal and wakefulness of the person, as a microphone and a camera hear and see them",
    body=("person.refusal", "person.awake", "voice.coughs", "voice.wet"),
    stands={"person.awake": 1.0},
)
