"""Pages of requests, namespaces and clusters: parse, call one service or selector, render."""
