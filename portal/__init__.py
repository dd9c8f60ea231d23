"""The site itself: settings, URLs, sign-in, home and health."""

# Celery's shared_task binds to the app that exists when a task module is imported.
from portal.celery import app as celery_app

__all__ = ["celery_app"]
