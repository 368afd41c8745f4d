// Package archive is the file of a backup: CRDs with their status, and their objects at each version that was read. It
// has Velero's layout (https://velero.io/docs/main/output-file-format), so that its users know their way, and tar and
// sha256sum do.
//
//	metadata/version                                                     1.1.0
//	resources/RESOURCE.GROUP/VERSION/namespaces/NAMESPACE/NAME.json      an object at a version
//	resources/RESOURCE.GROUP/VERSION-preferredversion/namespaces/…       the same at the version that the API server prefers
//	resources/RESOURCE.GROUP/namespaces/NAMESPACE/NAME.json              the same once more, as Velero has it
//	resources/RESOURCE.GROUP/…/cluster/NAME.json                         an object without a namespace
//	moult/sha256sums/00001                                               SHA-256 of the files before it, for sha256sum -c
//	moult/manifest.json                                                  what was read, when, and how much
//
// All of it is one gzip member. A second one, empty, has the SHA-256 of the first in its header: the seal, by which any changed
// byte is seen. Create writes a file as it is read from a cluster, and Open reads it back: nothing of a file that Open refuses is
// used. Both need memory for one object at a time, and for the digests of a few hundred.
package archive
