"""An S3 server on loopback, moto's, for the tests of object stores and lake tables."""
