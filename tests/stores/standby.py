"""A hot standby of a server: it replays what the server has written, and answers queries alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import make_url

from ctxassembly.stores.embedded_server import embedded_postgres, prepare_cluster
from owners import query, wait_until


@contextmanager
def standby_of(url: str) -> Iterator[str]:
    """The URL of a new standby of the embedded server at `url`."""
    parsed = make_url(url)
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as folder:
        cluster = prepare_cluster(folder)
        cluster.data.mkdir(mode=0o700)
        if cluster.owner:
            shutil.chown(cluster.data, cluster.owner.pw_uid, cluster.owner.pw_gid)
        server = [f"--host={parsed.query['host']}", f"--port={parsed.query['port']}", f"--username={parsed.username}"]
        cluster.run("pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", f"--pgdata={cluster.data}", *server)
        with embedded_postgres(folder, durable=False) as standby_url:
            yield make_url(standby_url).set(database=parsed.database).render_as_string(hide_password=False)


def wait_until_replayed(url: str, standby_url: str) -> None:
    """Wait until the standby has all that the server has written until now."""
    written = query(url, "SELECT pg_current_wal_lsn()")
    wait_until(lambda: query(standby_url, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"))
