"""What a connection is made with (address, namespace, TLS, API key), and in words why one was refused.

Temporal's own variables and profiles say it, as for its CLI. It connects nothing itself: `client` does.
"""

from __future__ import annotations

import os
from pathlib import Path

from temporalio.envconfig import ClientConfigProfile, ClientConnectConfig

from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from domain.errors import Cause, Malformed, Problem, Unavailable

DEFAULT_ADDRESS = "127.0.0.1:7233"
CHOOSING = ("COUNTERSIGN_TEMPORAL_ADDRESS", "TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE")
"""Variables by which a person chooses a server. Without any, an address of `countersign.toml` gets no profile's key."""

SHORTEST_KEY = 6
UNTRUSTED = (
    "shows a certificate that nobody trusted here has signed",
    "name the CA of the server: TEMPORAL_TLS_SERVER_CA_CERT_PATH, or server_ca_cert_path in the profile",
)

REFUSALS = (
    ("InvalidCertificate(UnknownIssuer", *UNTRUSTED),
    ("InvalidCertificate(BadSignature", *UNTRUSTED),
    (
        "InvalidCertificate(NotValidForName",
        "shows a certificate for another name",
        "name it as its certificate does: TEMPORAL_TLS_SERVER_NAME, or server_name in the profile",
    ),
    (
        "InvalidCertificate(Expired",
        "shows a certificate that has expired",
        "see that the server gets a new one, and that the clock of this machine is right",
    ),
    (
        "InvalidContentType",
        "speaks no TLS",
        "ask the port that does, or leave TLS and API key out: TEMPORAL_TLS=false",
    ),
    (
        "InconsistentKeys",
        "was not asked: the private key is not that of the client's certificate",
        "name a pair: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or those of the profile",
    ),
    (
        "KeyParseError",
        "was not asked: the client's private key is none",
        "name a key in PEM: TEMPORAL_TLS_CLIENT_KEY_PATH, or client_key_path in the profile",
    ),
    (
        "both client cert and private key",
        "was not asked: of the client's certificate and its private key there is one alone",
        "name a pair: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, or those of the profile",
    ),
    (
        "CertificateParseError",
        "was not asked: a certificate is none",
        "name certificates in PEM: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_SERVER_CA_CERT_PATH",
    ),
)
"""What the SDK's error has in it, what that says of the server, and what to do."""


def profile_of(settings: Settings) -> ClientConfigProfile:
    """What Temporal's variables and the chosen profile say. Raises `Malformed`."""
    chosen = settings.temporal_profile is not None or any(os.environ.get(name) for name in CHOOSING)
    try:
        return ClientConfigProfile.load(disable_file=not chosen)
    except RuntimeError as error:  # the SDK's ConfigError
        raise _malformed("Temporal", str(error), "expected a profile of Temporal's configuration file") from error


def arguments(settings: Settings, address: str | None = None) -> ClientConnectConfig:
    """What to connect with: `address`, else the configured server; its API key is masked from now on.

    The embedded server is asked without any of that. `COUNTERSIGN_*` goes before Temporal's own variables, these before
    the profile, and that before `countersign.toml`. Raises `Malformed` for a profile or a file that cannot be used.
    """
    if not settings.remote:
        return {"target_host": address or DEFAULT_ADDRESS, "namespace": settings.temporal_namespace}
    try:
        config = profile_of(settings).to_client_connect_config()
    except OSError as error:
        raise _malformed(str(error.filename), f"cannot be read: {error.strerror}", "expected a PEM file") from error
    named = address or os.environ.get("COUNTERSIGN_TEMPORAL_ADDRESS")
    config["target_host"] = named or config.get("target_host") or settings.temporal_address or DEFAULT_ADDRESS
    within = os.environ.get("COUNTERSIGN_TEMPORAL_NAMESPACE") or config.get("namespace")
    config["namespace"] = within or settings.temporal_namespace
    secrets = {
        "TEMPORAL_API_KEY": config.get("api_key", ""),
        "TEMPORAL_AUTHORIZATION": config.get("rpc_metadata", {}).get("authorization", ""),
    }
    masker_of(settings).learn({name: key.encode() for name, key in secrets.items() if len(key) >= SHORTEST_KEY})
    return config


def key_files(settings: Settings) -> tuple[Path, ...]:
    """Files with what lets a client in or reads its payloads, for the server chosen. Raises `Malformed`."""
    tls = profile_of(settings).tls if settings.remote else None
    key = tls.client_private_key if tls else None
    named = (key if isinstance(key, Path) else None, settings.payload_key_file)
    return tuple(path.absolute() for path in named if path is not None)


def refused(config: ClientConnectConfig, error: BaseException) -> Unavailable:
    """Why no connection came of `config` (server_unavailable). The SDK tells it in text alone."""
    host, said = config["target_host"], str(error)
    for part, what, next_step in REFUSALS:
        if part in said:
            return _unavailable(f"the Temporal server at {host} {what}", next_step)
    if isinstance(error, TimeoutError):
        return _unavailable(f"the Temporal server at {host} does not answer in time", "see that it is one, and is well")
    if "code: Unauthenticated" in said or "code: PermissionDenied" in said:
        return not_let_in(config)
    if "after connection" in said and ("transport error" in said or "Canceled" in said):
        return _cut(config)
    return _unavailable(
        f"no Temporal server answers at {host}", "start it, or unset TEMPORAL_ADDRESS to use the embedded one"
    )


def not_let_in(config: ClientConnectConfig) -> Unavailable:
    """The server has heard who asks, and says no."""
    host, namespace = config["target_host"], config["namespace"]
    if "api_key" in config:
        return _unavailable(
            f"the Temporal server at {host} does not take this API key for the namespace {namespace!r}",
            "see that it is the server's, whole, not expired, and for that namespace: TEMPORAL_API_KEY, or the profile",
        )
    return _unavailable(
        f"the Temporal server at {host} wants credentials for the namespace {namespace!r}",
        "give them: TEMPORAL_API_KEY, or a profile in TEMPORAL_PROFILE",
    )


def no_namespace(config: ClientConnectConfig) -> Unavailable:
    """There is a server, and not that namespace."""
    return _unavailable(
        f"the Temporal server at {config['target_host']} has no namespace {config['namespace']!r}",
        "name one that it has: COUNTERSIGN_TEMPORAL_NAMESPACE, TEMPORAL_NAMESPACE or the profile",
    )


def _cut(config: ClientConnectConfig) -> Unavailable:
    """The server ended the connection at the first word: what TLS makes of a client's certificate, it does not tell."""
    host, tls = config["target_host"], config.get("tls")
    if not tls:
        what = "ends the connection: it may want TLS"
        return _unavailable(
            f"the Temporal server at {host} {what}", "set TEMPORAL_TLS=true, and name its CA if need be"
        )
    if isinstance(tls, bool) or tls.client_cert is None:
        what = "ends the connection: it may want a client's certificate"
        advice = "name one: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH"
    else:
        what = "ends the connection: it does not take the client's certificate"
        advice = "see that it has not expired, and that the server trusts its CA: TEMPORAL_TLS_CLIENT_CERT_PATH"
    return _unavailable(f"the Temporal server at {host} {what}", advice)


def _unavailable(reason: str, next_step: str) -> Unavailable:
    return Unavailable(Cause.SERVER_UNAVAILABLE, reason, next_step)


def _malformed(field: str, what: str, expected: str) -> Malformed:
    return Malformed([Problem(file="environment", line=1, field=field, what=what, expected=expected)])
