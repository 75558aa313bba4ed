# kctl completion for fish. Made by tools/write_manuals.py; do not edit. Loads the script at the first Tab of a session.
type -q kctl; and kctl completion fish | source
