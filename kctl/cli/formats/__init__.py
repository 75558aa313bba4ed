"""The forms in which records and tables leave the command line. Pure: values in, bytes or text out."""
