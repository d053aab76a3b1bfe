from ctxassembly.stores.postgres.index import PostgresIndex as PostgresIndex
from ctxassembly.stores.postgres.taxonomy import read_taxonomy as read_taxonomy
