"""The command line. `kctl.client` does not import it."""
