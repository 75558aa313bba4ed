"""Who the broker is, and who we are: TLS and SASL as bytes in, bytes out. No module here opens a socket."""
