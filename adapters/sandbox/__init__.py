"""Runs commands in containers on a Docker engine: the `Sandbox` port. Source: DESIGN section 7, basic form.

Nothing is imported here: who only looks for an image (`present`) does without the engine's library, slow to load.
"""
