"""Whose a signature is: the `Signatures` port, on OpenSSH's `ssh-keygen`. Source: DESIGN 5, OpenSSH PROTOCOL.sshsig."""

from adapters.signatures.ssh import SshSignatures

__all__ = ["SshSignatures"]
