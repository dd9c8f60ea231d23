"""The people of the demo and the tests, as the identity provider knows them."""

from dataclasses import dataclass

ALPHA, BETA = "data-science-alpha", "data-science-beta"
ALPHA_LEADS, BETA_LEADS = f"{ALPHA}-leads", f"{BETA}-leads"
APPROVERS, ADMINS, AUDITORS = "berth-approvers", "berth-admins", "berth-auditors"


@dataclass(frozen=True)
class Person:
    """Somebody who can sign in. `subject` is the same at each start; `note` is for readers."""

    subject: str
    name: str
    groups: tuple[str, ...]
    note: str

    @property
    def email(self) -> str:
        return f"{self.subject}@example.org"

    @property
    def claims(self) -> dict[str, object]:
        """What the provider says of them, besides the subject."""
        return {"name": self.name, "email": self.email, "groups": list(self.groups)}


ALPHA_LEAD = Person("amara.okafor", "Amara Okafor", (ALPHA, ALPHA_LEADS), "leads team alpha")
ALPHA_MEMBER = Person("jonas.weber", "Jonas Weber", (ALPHA,), "works in team alpha")
ALPHA_SECOND = Person("mei.tanaka", "Mei Tanaka", (ALPHA,), "works in team alpha")
BETA_LEAD = Person("lucia.ferrari", "Lucia Ferrari", (BETA, BETA_LEADS), "leads team beta")
BETA_MEMBER = Person("samir.haddad", "Samir Haddad", (BETA,), "works in team beta")
BETA_SECOND = Person("ingrid.solberg", "Ingrid Solberg", (BETA,), "works in team beta")
APPROVER = Person("priya.nair", "Priya Nair", (APPROVERS,), "approves requests")
SECOND_APPROVER = Person("tomas.novak", "Tomáš Novák", (APPROVERS,), "approves requests")
ADMIN = Person("chen.wei", "Chen Wei", (ADMINS,), "runs the platform")
AUDITOR = Person("ruth.adler", "Ruth Adler", (AUDITORS,), "audits, changes nothing")
OUTSIDER = Person("nico.martin", "Nico Martin", (), "is in no group")

EVERYBODY = (
    ALPHA_LEAD,
    ALPHA_MEMBER,
    ALPHA_SECOND,
    BETA_LEAD,
    BETA_MEMBER,
    BETA_SECOND,
    APPROVER,
    SECOND_APPROVER,
    ADMIN,
    AUDITOR,
    OUTSIDER,
)
