"""Card C3: feeding a meal by spoon, safely and with consent."""
