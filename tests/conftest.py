"""What all tests share: Hypothesis without deadlines, since machines are shared."""

from hypothesis import settings

settings.register_profile("evaluand", deadline=None)
settings.load_profile("evaluand")
