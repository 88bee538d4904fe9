"""A real SMTP server for tests: aiosmtpd, which keeps what it receives and misbehaves on request.

Usage: smtp_server.py DIRECTORY MODE
MODE is plain, starttls, implicit, elsewhere (STARTTLS with another host's certificate) or auth (STARTTLS and a
password). It prints its port, writes each mail to DIRECTORY/N.json before it accepts it, and ends when its input does.

The local part of a recipient says what happens: rcpt-CODE answers RCPT with that code, data-CODE the end of the mail;
drop-at-rcpt and drop-after-dot close the connection there, hang-after-dot never answers.
"""

import asyncio
import email
import email.policy
import json
import logging
import os
import pathlib
import ssl
import sys
import warnings

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

HERE = pathlib.Path(__file__).parent
NEVER = 3600


def parsed(content):
    message = email.message_from_bytes(content, policy=email.policy.default)
    parts = []
    for part in message.walk():
        if part.is_multipart():
            continue
        body = part.get_payload(decode=True)
        parts.append(
            {
                "type": part.get_content_type(),
                "disposition": part.get_content_disposition(),
                "fileName": part.get_filename(),
                "contentId": part["content-id"],
                "text": body.decode("utf-8", "replace") if part.get_content_maintype() == "text" else None,
                "hex": body.hex(),
            }
        )
    return {
        "headers": [[name, str(value)] for name, value in message.items()],
        "type": message.get_content_type(),
        "parts": parts,
        "defects": [str(defect) for defect in message.defects],
    }


class Handler:
    def __init__(self, directory):
        self.directory = directory
        self.count = 0
        self.peers = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        word = address.split("@")[0]
        if word.startswith("rcpt-"):
            return f"{word[5:]} answered on request"
        if word == "drop-at-rcpt":
            server.transport.abort()
            await asyncio.sleep(NEVER)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        word = envelope.rcpt_tos[0].split("@")[0]
        if word.startswith("data-"):
            return f"{word[5:]} answered on request"
        self.count += 1
        self.peers.add(session.peer)
        mail = {
            "from": envelope.mail_from,
            "hello": session.host_name,
            "to": envelope.rcpt_tos,
            "tls": server.transport.get_extra_info("cipher") is not None,
            "connections": len(self.peers),
            "login": session.auth_data.login.decode() if session.auth_data else None,
            **parsed(envelope.content),
        }
        (self.directory / f"{self.count}.json").write_text(json.dumps(mail))
        if word == "drop-after-dot":
            server.transport.abort()
            await asyncio.sleep(NEVER)
        if word == "hang-after-dot":
            await asyncio.sleep(NEVER)
        return f"250 2.0.0 Ok: queued as {self.count}"


def authenticate(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (b"ana", b"pass word")
    return AuthResult(success=good, auth_data=data if good else None, handled=False)


async def serve(directory, mode):
    handler = Handler(directory)
    context = None
    if mode != "plain":
        name = "elsewhere" if mode == "elsewhere" else "server"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(HERE / "tls" / f"{name}.pem", HERE / "tls" / f"{name}.key")
    starttls = context if mode != "implicit" else None
    options = {"enable_SMTPUTF8": True, "tls_context": starttls, "require_starttls": starttls is not None}
    if mode == "auth":
        options.update(authenticator=authenticate, auth_required=True)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(handler, hostname="test.example", loop=loop, **options),
        "127.0.0.1",
        0,
        ssl=context if mode == "implicit" else None,
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    # Handlers may be waiting for ever.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    # Refused handshakes are wanted here and are no news.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    asyncio.run(serve(pathlib.Path(sys.argv[1]), sys.argv[2]))
