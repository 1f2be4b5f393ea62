"""Card C1: relieving an itch where it is, gently, and only while it is wanted."""
