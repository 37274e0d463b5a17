#!/usr/bin/env bash
# Shows that the tests kill each fault of scripts/mutants/. See scripts/mutate.py --help.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/mutate.py" "$@"
