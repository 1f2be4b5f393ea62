"""Physical benches: every device of a bench file found by its identity, opened, and moved row by row in real time.

NOTHING HERE HAS MET HARDWARE. The devices at the other ends have been the firmware on a host, and Modbus and servo
devices of software. Only dry runs are built, with nobody at the bench: see `decisions/001-dry-runs-first.md`.
"""
