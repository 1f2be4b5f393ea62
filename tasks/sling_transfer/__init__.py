"""Lifting a resident with a sling, from bed to chair and back."""
