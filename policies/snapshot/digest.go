package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Sum is the digest of everything in a snapshot but Digest itself. It is that of the content and not of the file: a
// snapshot may be turned from YAML into JSON, indented and commented. It guards against accidents, above all against a
// merge that takes a CRD out of the middle; whoever means to lie can count it anew.
func (s *Snapshot) Sum() string {
	content := *s
	content.Digest = ""
	encoded, err := json.Marshal(content)
	if err != nil {
		return "" // a time that no calendar has; no snapshot with it can be written, nor read
	}
	sum := sha256.Sum256(encoded)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkDigest refuses what is not whole.
func (s *Snapshot) checkDigest() error {
	switch {
	case s.Digest == "":
		return errors.New("the snapshot has no digest, so nothing shows whether a CRD is missing from it; take it anew with `moult snapshot`")
	case s.Digest != s.Sum():
		return fmt.Errorf("the snapshot of %s is not what was taken: its content does not match its digest, so something was taken out, added or changed since, by hand or by a merge; take it anew with `moult snapshot`", s.Cluster)
	}
	return nil
}
