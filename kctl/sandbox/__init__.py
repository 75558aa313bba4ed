"""An in-process Kafka cluster with faults, served on sockets or in virtual time."""
