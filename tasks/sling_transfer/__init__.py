"""Card C4: lifting a resident with a sling, from bed to chair and back."""
