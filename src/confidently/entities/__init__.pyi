from .merging import merge_entities as merge_entities
from .models import EntityModels as EntityModels
