"""Certificates in PEM files, made for one test run."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = timedelta(days=2)


class Certificate(NamedTuple):
    """Where a certificate and its private key are, apart and in one file."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Signs certificates; its own is in the file `certificate`."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self.certificate = directory / f"{name}.pem"
        self.certificate.write_bytes(_pem(self._signed(signed)))

    def issue(self, name: str, host: str, password: str | None = None) -> Certificate:
        """Sign a certificate for a host: a name or an address; its key is encrypted where there is a password."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternative = x509.SubjectAlternativeName([_general_name(host)])
        certificate = _pem(self._signed(self._builder(subject, key).add_extension(alternative, critical=False)))
        protection = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)
        files = Certificate(*(self._directory / f"{name}.{kind}" for kind in ("crt", "key", "pem")))
        files.certificate.write_bytes(certificate)
        files.key.write_bytes(private)
        files.both.write_bytes(private + certificate)
        return files

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - LIFETIME)
            .not_valid_after(now + LIFETIME)
        )

    def _signed(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
