from .client import Client as Client
from .client import ServerError as ServerError
