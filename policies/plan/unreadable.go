package plan

import (
	"fmt"
	"strings"
)

// Unreadable is the reason of an object that the API server cannot read from etcd. No list of its kind is answered as long as
// it is there, so nothing about the other objects can be proved.
const Unreadable = "Unreadable"

// Remedy says what to do about an object that cannot be read, by what the API server says of it.
func Remedy(why string) string {
	if _, version, left := strings.Cut(why, "invalid group/version: "); left && !strings.HasSuffix(version, "…") {
		version = version[strings.LastIndex(version, "/")+1:]
		return fmt.Sprintf("it is stored at %s, which the CRD does not have any more: put %[1]s back into spec.versions with served: false, and keep it there until all objects are migrated", version)
	}
	if strings.Contains(why, "not transformable") { // k8s.io/apiserver pkg/storage/etcd3, for what is encrypted with a key that it lacks
		return "put the key that it was encrypted with back into the EncryptionConfiguration of every API server, and delete nothing"
	}
	if strings.Contains(why, "conversion webhook for") {
		return "bring the conversion webhook up, or correct what it answers for the object"
	}
	return "if it can be read at another version, correct it there; else restore it in etcd from a backup, or delete it: https://github.com/moult-dev/moult/blob/main/docs/doctor.md#objects-that-cannot-be-read"
}
