"""Kafka's wire protocol: encoding and decoding of messages, without sockets and time.

    schema.py   declarations of messages: Struct, Message, Request, Response, field()
    api/        one generated file for each API or family of APIs
    walker.py   reference codec, short and slow: it defines the meaning of a declaration
    codec.py    compiled codec, generated from the declarations on first use

The package re-exports nothing: commands load only the APIs they use.
"""
