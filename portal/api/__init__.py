"""The REST API's manners: pages of lists, errors, bodies. Its resources live with their rooms."""

from portal.api.pagination import Pagination
from portal.api.problems import exception_handler

__all__ = ["Pagination", "exception_handler"]
