"""Outbox, inbox, mail, chat and webhooks."""
