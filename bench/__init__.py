"""Comparisons of two things in one run on the real parts: `python -m bench NAME`.

Each prints one JSON line last. None is a test: what counts is the ratio, read by a person.
"""
