"""Text as the database takes it."""


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold this text: no NUL, no half of a surrogate pair."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False
