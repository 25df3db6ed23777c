"""What estimators have learned, compared."""

from confidently.tasks.conformal import CONFORMAL


def settled_state(model):
    """The arrays of a model, without what misses have changed: ``fit`` forgets it, and a stream does not."""
    learner = model.learner_
    return learner.state | {CONFORMAL: learner.task.settled(learner.state[CONFORMAL])}
