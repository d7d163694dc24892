"""Service accounts that a local engine knows."""

from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .engine_requests import State

EMAIL = "robot@project.iam.gserviceaccount.com"


@cache
def _key(number: int) -> rsa.RSAPrivateKey:
    # Making one takes a while, so all tests share them.
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def make_service_account(state: State, number: int = 0) -> dict[str, Any]:
    """Return what the JSON key file of an account holds, and let an engine know it."""
    key = _key(number)
    state.public_keys[EMAIL] = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "client_email": EMAIL,
        "private_key_id": f"key-{number}",
        "private_key": pem.decode("ascii"),
        "token_uri": f"{state.url}/token",
    }
