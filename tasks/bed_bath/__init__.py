"""Card E4: washing with water that is warm, not hot, gently and with dignity."""
