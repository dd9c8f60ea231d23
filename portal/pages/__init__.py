"""The first page, and what stands on every page."""
