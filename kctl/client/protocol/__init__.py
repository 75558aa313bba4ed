"""Kafka's wire protocol: bytes in, messages out, and back; no socket, selector or time.

    schema.py      what a declaration is: Struct, Message, Request, Response, field()
    api/           one file an API or a family of them, written by tools/write_declaration.py; a registry by api key
    walker.py      the reference codec, short and slow: it defines what a declaration means
    codec.py       the compiled codec, made from the same declarations on first use
    framing.py     size prefix, request and response headers
    versions.py    which version to speak with a node

Import the modules, not this package: nothing is re-exported, so that a command loads only the APIs it uses.
"""
