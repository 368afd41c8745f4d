#!/bin/sh
# Started under the name of a program (etcd, kube-apiserver, kube-apiserver-2): leaves the process id beside that name
# and becomes the program, found through the link "assets". The id serves to pause a server, and the guard to end it.
name=${0##*/}
echo $$ >"$0.pid"

# Collecting garbage is a quarter of what these programs do for tests, which have memory to spare.
export GOGC="${GOGC:-400}"
exec "${0%/*}/assets/${name%-[0-9]*}" "$@"
