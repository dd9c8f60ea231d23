"""Kubernetes: what may stand in a cluster, and how Berth puts it there and reads it back.

Pure rules (`quantities`, `amounts`, `names`, `tenant`, `nodes`) give one verdict to form, API and
worker. `client` talks to one cluster, `steps` brings one tenant to its desired state, `watch`
follows one kind, and `bridge` lets synchronous code use all of it. Objects are plain JSON as the
API server speaks it.

No Django and no Celery here, and no other room imports the `kubernetes` package.
"""
