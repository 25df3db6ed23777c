"""Made-up data of any size for examples, tutorials and first trials: no download, and the same rows everywhere.

Real data decide how good a learner is; these only show how it is used. Every sample is an iterator of dicts, which
``confidently sample`` writes to a file. The same seed gives the same rows with every version of Python. Another seed
gives other rows of the same distribution, for a test file for example.
"""

from .clicks import clicks
from .messages import messages
from .routes import routes

__all__ = ["clicks", "messages", "routes"]
