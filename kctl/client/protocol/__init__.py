"""Kafka's wire protocol: encoding and decoding of messages, without sockets and time.

    schema.py      declarations of messages: Struct, Message, Request, Response, field()
    api/           one generated file for each API or family of APIs, and a registry by API key
    walker.py      reference codec, short and slow: it defines the meaning of a declaration
    codec.py       compiled codec, generated from the same declarations on first use
    framing.py     size prefix, request and response headers
    versions.py    choice of the version of each API for a node

The package re-exports nothing: commands load only the APIs they use.
"""
