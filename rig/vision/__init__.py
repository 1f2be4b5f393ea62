"""What the rig sees, at a known age: cameras, their faults, their calibration, and what is read off a picture.

Classical and explainable: fiducial markers, geometry, colour and depth. Every reading carries the time of the
exposure it rests on and says how sure it is; a picture that does not change, is black, blurred or too bright is
no picture, and what would be read off it is unknown. A learned detector may stand beside these as another
`Detector`; nothing needs one.
"""
