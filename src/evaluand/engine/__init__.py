"""Runs units of work; the default engine is one process with asyncio."""
