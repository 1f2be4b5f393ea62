"""Card E3: putting a sleeve on a weak arm, gently and with consent."""
