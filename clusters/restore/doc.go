// Package restore writes the objects of a backup into a cluster, and is the only writer of it. What is there stays as
// it is, but for what an interrupted restore has not ended, and for what Options.Overwrite asks for. Each object is
// written at a version that the backup has and the cluster serves, with its status, the UIDs of its owners in this
// cluster, and its managedFields. What the API server does not keep of it is reported. Begin at Run.
package restore
