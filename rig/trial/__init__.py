"""Running one trial: the rig, its skills, and the loop between agent, gate, monitor and record."""
