"""What is deployed, stated and checked.

`stack` reads the declared deployment into memory, `manifest` observes what those very
bytes are, `diff` compares two manifests and names the component and the leaf that
differ, and `descriptor` writes a manifest down as an in-toto Statement.
"""
