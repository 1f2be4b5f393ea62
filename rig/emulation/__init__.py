"""Emulated benches: the real firmware and real protocols, driven by a simulated world in the place of sensors.

A trial runs agent -> gate -> bridge -> firmware -> world -> sensors -> firmware -> bridge -> monitor. The
world is `rig.sim`; what has a wire to a device is read and set through that device alone. See
`decisions/001-world-beside-the-controller.md`.
"""
