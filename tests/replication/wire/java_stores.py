"""Trust stores and key stores made by Java's keytool."""

import subprocess
from pathlib import Path

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificate

from tests.conftest import require
from tests.oracle.kafka import OLDEST_JAVA, java_version
from tests.replication.wire.certificates import Certificate

PASSWORD = "store-secret"  # noqa: S105 - nobody's


def keytool(*arguments: object) -> None:
    require(available=java_version() >= OLDEST_JAVA, what=f"a Java {OLDEST_JAVA}+ development kit")
    subprocess.run(["keytool", *map(str, arguments)], check=True, capture_output=True)


def trust_store(path: Path, kind: str, *certificates: Path) -> Path:
    """Make a store of certificates in PEM."""
    for number, certificate in enumerate(certificates):
        store = ("-keystore", path, "-storetype", kind, "-storepass", PASSWORD)
        keytool("-importcert", "-noprompt", "-alias", f"trusted-{number}", "-file", certificate, *store)
    return path


def key_store(path: Path, kind: str, own: Certificate, key_password: str = PASSWORD, alias: str = "own") -> Path:
    """Make a store of a private key and its certificate, or add these to one; a JKS has a password for each key."""
    key = load_pem_private_key(own.key.read_bytes(), None)
    certificate = load_pem_x509_certificate(own.certificate.read_bytes())
    source = path.with_suffix(f".{alias}.source")
    protection = BestAvailableEncryption(PASSWORD.encode())
    # mypy knows keys of more kinds than a store may have.
    source.write_bytes(serialize_key_and_certificates(alias.encode(), key, certificate, None, protection))  # type: ignore[arg-type]
    origin = ("-srckeystore", source, "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD, "-srcalias", alias)
    target = ("-destkeystore", path, "-deststoretype", kind, "-deststorepass", PASSWORD, "-destkeypass", key_password)
    keytool("-importkeystore", "-noprompt", *origin, *target)
    return path
