package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Backup is what BackupAnnotation says of a backup that was written, and read back.
type Backup struct {
	// Time is when reading began, by the clock of the machine that took it.
	Time time.Time `json:"time"`
	// Digest is the one that `moult backup verify` reports for the file.
	Digest string `json:"digest"`
	// UID, Generation and StorageVersion are those of the CRD from the moment that reading began until the annotation was written.
	UID            types.UID `json:"uid"`
	Generation     int64     `json:"generation"`
	StorageVersion string    `json:"storageVersion"`
	// Objects is how many it is of, and Missing how many of them could not be read at all versions.
	Objects int64 `json:"objects"`
	Missing int64 `json:"missing,omitempty"`
}

// LastBackup is what a CRD says of its last backup: nothing, a record, or something that is none.
type LastBackup struct {
	Record  *Backup `json:"record,omitempty"`
	Garbled bool    `json:"garbled,omitempty"`
}

// LastBackupOf reads the annotation.
func LastBackupOf(crd metav1.Object) LastBackup {
	value, is := crd.GetAnnotations()[v1alpha1.BackupAnnotation]
	if !is {
		return LastBackup{}
	}
	record, err := parseBackup(value)
	return LastBackup{Record: record, Garbled: err != nil}
}

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func parseBackup(value string) (*Backup, error) {
	b := &Backup{Objects: -1}
	if err := json.Unmarshal([]byte(value), b); err != nil {
		return nil, err
	}
	if b.Time.IsZero() || !digest.MatchString(b.Digest) || b.UID == "" || b.Generation < 1 || b.StorageVersion == "" || b.Objects < 0 || b.Missing < 0 {
		return nil, errors.New("something is missing")
	}
	return b, nil
}

// Annotation is the value of BackupAnnotation.
func (b Backup) Annotation() string {
	b.Time = b.Time.UTC().Truncate(time.Second)
	content, _ := json.Marshal(b) // of strings and numbers
	return string(content)
}

// Lacks says why the backup does not count for a CRD that has this UID, generation and storage version now; empty if it does. One of
// the same generation was taken after the last flip, whatever the clocks say: a flip makes a new generation. The sentence goes on
// behind "and".
func (l LastBackup) Lacks(uid types.UID, generation int64, storageVersion string, now time.Time) string {
	b := l.Record
	if b == nil {
		if l.Garbled {
			return fmt.Sprintf("the annotation %s of the CRD is not what `moult backup --annotate` writes", v1alpha1.BackupAnnotation)
		}
		return fmt.Sprintf("the CRD has no annotation %s", v1alpha1.BackupAnnotation)
	}
	of := "the last backup, of " + b.Time.UTC().Format(time.RFC3339) + ", "
	switch {
	case b.UID != uid:
		return of + "is of another CRD of this name, which was deleted since"
	case b.StorageVersion != storageVersion:
		return of + fmt.Sprintf("was taken while %s was the storage version", b.StorageVersion)
	case b.Generation != generation:
		return of + fmt.Sprintf("was taken at generation %d of the CRD, which is at %d now: whether the storage version was another one in between cannot be known", b.Generation, generation)
	case b.Missing > 0:
		return of + fmt.Sprintf("is incomplete: %d of %d objects could not be read, and `moult backup verify FILE` names them", b.Missing, b.Objects)
	case b.Time.After(now):
		return of + "is in the future: a clock is wrong"
	}
	return ""
}
