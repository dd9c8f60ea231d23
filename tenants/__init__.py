"""Users, teams, clusters, namespaces and the append-only history."""
