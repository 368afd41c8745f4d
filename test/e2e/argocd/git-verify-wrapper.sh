#!/bin/sh
# No output means: this commit carries no signature.
exit 0
