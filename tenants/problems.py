"""Problems that cluster/ finds, for people."""

from django.utils.translation import gettext as _

from cluster.problem import Problem


def sentence(problem: Problem) -> str:
    """The problem in the reader's language."""
    return _(problem.template) % problem.params
