"""What `make demo`, `make smoke` and the tests start: real parts on loopback. Not in the product.

Each part is a class that keeps its state in one folder, takes free ports, writes logs to files and
is up when `start()` returns. Made again on the same folder without `start()`, it only tells where
the running part is; so the processes of one test run share what one of them started.
"""
