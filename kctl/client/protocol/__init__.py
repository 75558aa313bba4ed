"""Kafka's wire protocol: encoding and decoding of messages, without sockets, selectors, or time.

    schema.py      declarations of messages: Struct, Message, Request, Response, field()
    api/           one generated file for each API or family of APIs, and a registry by API key
    walker.py      the reference codec, short and slow: it defines the meaning of a declaration
    codec.py       the compiled codec, generated from the same declarations on first use
    framing.py     size prefix, request and response headers
    versions.py    choice of the version of each API for a node

The package re-exports nothing, so that a command loads only the APIs it uses.
"""
