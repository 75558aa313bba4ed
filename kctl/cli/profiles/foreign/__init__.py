"""Other tools' files, read into the properties of a profile and written from them.

transfer.py chooses the format and has what they share, java.py is Kafka's own .properties, librdkafka.py what kcat and
other users of librdkafka have, rpk.py Redpanda's. None of them opens a file.
"""
