"""Card E2: helping to drink from a cup, sip by sip."""
