"""Model weights by pinned digest: what there is, and how it comes onto this machine."""
