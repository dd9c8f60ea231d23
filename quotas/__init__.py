"""Requests, reviews, grants, the reconciler and the use that the cluster reports."""
