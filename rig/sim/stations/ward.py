"""A ward: medicine cart and care records; what they show is set by the ward, nothing of it moves by itself.

The mass in the tray is one quantity seen by two load cells, the cart's own and the oracle's.
"""

from rig.sim.station import Station

STATION = Station(
    name="ward",
    text="medicine cart with carousel, cup, scanner and load cells, the ledger of its tablets, and care records",
    body=("tray.mass", "care.upright", "care.nil"),
    shown_as={
        "truth.tray_mass": "tray.mass", "truth.upright": "care.upright", "truth.nil": "care.nil",
    },
)  # fmt: skip
