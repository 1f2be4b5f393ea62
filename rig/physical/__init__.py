"""Physical benches: every device of a bench file found by its identity, opened, and put behind one door.

NOTHING HERE HAS MET HARDWARE. The devices at the other ends have been the firmware on a host, and Modbus and servo
devices of software. What moves a bench row by row in a trial (`stretch`) is not built: `rig.trial` says so, after it
has asked for a permit and looked for the devices.
"""
