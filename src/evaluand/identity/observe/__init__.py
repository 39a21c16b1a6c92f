"""Readers of the places where a component can be found."""
