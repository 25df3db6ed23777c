from .client.client import Client as Client
from .client.connection import ServerError as ServerError
