// Package golden holds a repository that two clusters are delivered from, one by Flux and one by Argo CD, and pull
// requests against it, each with what moult preview has to say about it.
//
//	testdata/repository         the repository before the pull request
//	testdata/snapshots          what the two clusters store, unless a pull request has snapshots of its own
//	testdata/pulls/<name>/      one pull request:
//	  pull.yaml                 what a reviewer has to be told, and the exit code; written by a person
//	  files/, deleted.txt       what differs from the repository
//	  snapshots/                what is different in a cluster
//	  expected.md, .json        what moult preview prints
//
// The test makes a Git repository of it, with a branch for each pull request. With -update it writes what is expected
// anew; read the difference, since it is what people will read.
package golden
