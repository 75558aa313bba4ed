"""A server of Google Cloud Storage's XML API on loopback, for the tests of object stores."""
