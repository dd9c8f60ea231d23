"""kubectl's credential plugin for the people of the demo.

`python -m dev.credential FOLDER SUBJECT` prints a token that the provider of this folder gives.
"""

import json
import sys
from pathlib import Path

from dev.idp import IdP
from dev.people import EVERYBODY


def main() -> None:
    folder, subject = sys.argv[1:]
    person = next(person for person in EVERYBODY if person.subject == subject)
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": IdP(Path(folder)).id_token(person)},
    }
    print(json.dumps(credential))


if __name__ == "__main__":
    main()
