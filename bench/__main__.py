"""`python -m bench NAME` runs one comparison and prints its figures as one JSON line, last."""

import argparse
import json
from importlib import import_module

NAMES = ("apply",)

parser = argparse.ArgumentParser(prog="python -m bench")
parser.add_argument("name", choices=NAMES)
parser.add_argument("--rounds", type=int, default=20)
arguments = parser.parse_args()
figures = import_module(f"bench.{arguments.name}").run(rounds=arguments.rounds)
print(json.dumps({"bench": arguments.name, **figures}))
