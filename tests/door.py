"""A gRPC door with TLS in front of a Temporal server: certificates of its own, and an API key if it wants one."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "temporal.test"
LOOPBACK = (x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(NAME))
OWN = frozenset({"authorization", "user-agent"})
"""What a client says to the door, or its library to the other side: not passed on."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[str, str]:
        """As two files; answers with their paths."""
        paths = (folder / f"{name}.pem", folder / f"{name}.key")
        for path, data in zip(paths, (self.certificate, self.key), strict=True):
            path.write_bytes(data)
        return str(paths[0]), str(paths[1])


class Authority:
    """A CA made for a test."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test's CA")])
        self.certificate = self._signed(self._key.public_key(), self._name, days=1, ca=True)

    def issue(self, days: int = 1) -> Pair:
        """A pair for loopback and `NAME`, valid since two days ago, until in `days` days."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return Pair(self._signed(key.public_key(), subject, days, ca=False), key.private_bytes(*form))

    def _signed(self, key: ec.EllipticCurvePublicKey, subject: x509.Name, days: int, *, ca: bool) -> bytes:
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(LOOPBACK), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


@dataclass
class _Passed(grpc.GenericRpcHandler):
    """Every call to the server behind, and its answer back; without the right key, to nobody."""

    behind: grpc.aio.Channel
    api_key: str
    closed: str

    def service(self, details: Any) -> grpc.RpcMethodHandler[bytes, bytes]:
        """See the base class."""

        async def answer(request: bytes, context: Any) -> bytes | None:
            said = dict(context.invocation_metadata())
            if self.api_key and said.get("authorization") != f"Bearer {self.api_key}":
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "Request unauthorized.")
            if self.closed and details.method.endswith(self.closed):
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, "Request unauthorized.")
            passed = [(name, value) for name, value in said.items() if name not in OWN]
            try:
                call: Any = self.behind.unary_unary(details.method)
                return bytes(await call(request, timeout=context.time_remaining(), metadata=passed))
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details(), tuple(error.trailing_metadata()))
                return None

        return grpc.unary_unary_rpc_method_handler(answer)


@asynccontextmanager
async def door(
    behind: str, pair: Pair, api_key: str = "", clients: Sequence[bytes] = (), closed: str = ""
) -> AsyncIterator[str]:
    """The address of a door to the server at `behind`. `clients`: CAs, one of which a client's certificate is from.

    `closed`: a method that nobody may call.
    """
    async with grpc.aio.insecure_channel(behind) as channel:
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((_Passed(channel, api_key, closed),))
        trusted = b"".join(clients) or None
        credentials = grpc.ssl_server_credentials([(pair.key, pair.certificate)], trusted, trusted is not None)
        port = server.add_secure_port("127.0.0.1:0", credentials)
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(0)
