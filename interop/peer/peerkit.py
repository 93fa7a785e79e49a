"""Shared parts of the peer kit: a test CA, a name map, a clock, a recorder, a server."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import os
import socket
import ssl
from pathlib import Path
from typing import Any, Callable

import httpx
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from personal_agent_protocol.__version__ import __version__ as SDK_VERSION
from personal_agent_protocol.errors import DiscoveryError
from personal_agent_protocol.profile import PROTOCOL_PROFILE

DRAFT = PROTOCOL_PROFILE  # "0.1" or "0.2"

#: The SDK refuses names that resolve to a non-public address, so mapped names
#: are given this one. Nothing is sent to it: MappedTransport dials the map.
STAND_IN_ADDRESS = "1.1.1.1"


# -- certificates ---------------------------------------------------------------------


def write_private(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.chmod(0o600)
    temporary.replace(path)


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _builder(subject: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey):
    now = dt.datetime.now(dt.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=30))
    )


def ensure_ca(directory: Path) -> Path:
    """`ca.pem` and `ca-key.pem` in `directory`, made once; the path of `ca.pem`."""

    certificate, private = directory / "ca.pem", directory / "ca-key.pem"
    if certificate.exists() and private.exists():
        return certificate
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "peer kit test CA")])
    usage = dict.fromkeys(
        (
            "digital_signature", "content_commitment", "key_encipherment",
            "data_encipherment", "key_agreement", "encipher_only", "decipher_only",
        ),
        False,
    )  # fmt: skip
    built = (
        _builder("peer kit test CA", name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, hashes.SHA256())
    )
    write_private(private, pem(key))
    write_private(certificate, built.public_bytes(serialization.Encoding.PEM))
    return certificate


def issue_leaf(directory: Path, names: list[str]) -> tuple[Path, Path]:
    """A server certificate for `names` from the CA in `directory`: (cert, key)."""

    ensure_ca(directory)
    ca = x509.load_pem_x509_certificate((directory / "ca.pem").read_bytes())
    ca_key = serialization.load_pem_private_key((directory / "ca-key.pem").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    built = (
        _builder(names[0], ca.subject, key.public_key())
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False
        )
        .sign(ca_key, hashes.SHA256())
    )
    stem = names[0].replace("*", "_")
    certificate, private = directory / f"{stem}.crt.pem", directory / f"{stem}.key.pem"
    write_private(private, pem(key))
    write_private(certificate, built.public_bytes(serialization.Encoding.PEM))
    return certificate, private


def trust(*files: Path | str) -> ssl.SSLContext:
    """A client context that trusts exactly these CA files."""

    context = ssl.create_default_context(cafile=str(files[0]))
    for file in files[1:]:
        context.load_verify_locations(cafile=str(file))
    return context


# -- names ------------------------------------------------------------------------------


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "127.0.0.1", int(port)


def name_map(entries: list[str]) -> dict[str, tuple[str, int]]:
    """`NAME=ADDR:PORT` entries as a dictionary."""

    mapped = {}
    for entry in entries:
        name, _, target = entry.partition("=")
        mapped[name.lower()] = address(target)
    return mapped


class MappedTransport(httpx.AsyncBaseTransport):
    """HTTPS to mapped names only; TLS and Host keep the name, the socket goes to the map.

    One inner transport per name, so a connection made for one name is never
    reused for another that shares its address.
    """

    def __init__(self, names: dict[str, tuple[str, int]], context: ssl.SSLContext) -> None:
        self.names = names
        self.context = context
        self.inner: dict[str, httpx.AsyncHTTPTransport] = {}
        self.seen: Callable[[dict[str, Any]], None] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host.lower()
        target = self.names.get(host)
        if request.url.scheme != "https" or target is None:
            raise httpx.ConnectError(f"{host} is not in the name map", request=request)
        transport = self.inner.get(host)
        if transport is None:
            transport = self.inner[host] = httpx.AsyncHTTPTransport(verify=self.context)
        moved = httpx.Request(
            request.method,
            request.url.copy_with(host=target[0], port=target[1]),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        response = await transport.handle_async_request(moved)
        if self.seen is not None and "event-stream" not in response.headers.get(
            "content-type", ""
        ):
            await response.aread()
            sent = await request.aread()
            self.seen(exchange(request, sent, response))
            response = httpx.Response(
                response.status_code,
                headers=[(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"],
                content=response.content,
            )
        return response

    async def aclose(self) -> None:
        for transport in self.inner.values():
            await transport.aclose()


def exchange(request: httpx.Request, sent: bytes, response: httpx.Response) -> dict[str, Any]:
    def text(data: bytes) -> str:
        return data.decode("utf-8", "replace")

    return {
        "request": {
            "method": request.method,
            "url": str(request.url),
            "headers": [[k.decode(), v.decode()] for k, v in request.headers.raw],
            "body": text(sent),
        },
        "response": {
            "status": response.status_code,
            "headers": [[k.decode(), v.decode()] for k, v in response.headers.raw],
            "body": text(response.content),
        },
    }


def resolver(names: dict[str, tuple[str, int]]):
    async def resolve(host: str) -> list[str]:
        if host.lower() not in names:
            raise DiscoveryError("dns_failed", f"{host} is not in the name map")
        return [STAND_IN_ADDRESS]

    return resolve


# -- time -------------------------------------------------------------------------------


class SkewClock:
    """The system's time plus an offset that tests can move."""

    def __init__(self) -> None:
        self.offset = dt.timedelta()

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.timezone.utc) + self.offset

    def advance(self, seconds: float) -> None:
        self.offset += dt.timedelta(seconds=seconds)


# -- servers ----------------------------------------------------------------------------


class QuietServer(uvicorn.Server):
    """uvicorn without its signal handlers: the program decides when to stop."""

    @contextlib.contextmanager
    def capture_signals(self):
        yield


def listen(text: str) -> socket.socket:
    host, port = address(text)
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.bind((host, port))
    return sock


@contextlib.asynccontextmanager
async def serving(app: Any, sock: socket.socket, certificate: tuple[Path, Path] | None = None):
    """Serve an ASGI application on a bound socket while the block runs."""

    options: dict[str, Any] = {"interface": "asgi3", "log_level": "error", "lifespan": "off"}
    if certificate is not None:
        options |= {"ssl_certfile": str(certificate[0]), "ssl_keyfile": str(certificate[1])}
    server = QuietServer(uvicorn.Config(app, **options))
    task = asyncio.create_task(server.serve(sockets=[sock]))
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the server stopped before it started")
        await asyncio.sleep(0.005)
    try:
        yield sock.getsockname()[:2]
    finally:
        server.should_exit = server.force_exit = True
        await task
        sock.close()


async def read_body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def answer(
    send: Any, status: int, body: Any = None, headers: list[tuple[str, str]] | None = None
) -> None:
    if isinstance(body, str):
        kind, data = "text/html; charset=utf-8", body.encode()
    else:
        kind, data = "application/json", b"" if body is None else json.dumps(body).encode()
    fields = [("content-type", kind), ("cache-control", "no-store"), *(headers or [])]
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(k.encode(), v.encode()) for k, v in fields],
        }
    )
    await send({"type": "http.response.body", "body": data})


def by_host(apps: dict[str, Any]):
    """Route by the Host header; 421 for a name that isn't served here."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        host = dict(scope["headers"]).get(b"host", b"").decode().rsplit(":", 1)[0].lower()
        target = apps.get(host)
        if target is None:
            await answer(send, 421, {"error": "misdirected_request"})
            return
        await target(scope, receive, send)

    return app
