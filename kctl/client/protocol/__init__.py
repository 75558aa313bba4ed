"""Kafka's protocol: encoding and decoding of messages, without sockets and time.

    schema.py   declarations of messages: Struct, Message, Request, Response, field()
    api/        one generated file for each API or family of APIs
    walker.py   reference codec, short and slow, which defines the meaning of a declaration
    codec.py    compiled codec, generated from the declarations on first use

The package exports nothing, so that commands load only the APIs they use.
"""
