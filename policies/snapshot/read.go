package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
)

// Read reads a snapshot from YAML or JSON. It is strict, since a file that is cut or misspelt would make a cluster look
// emptier than it is.
func Read(content []byte) (*Snapshot, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, errors.New("the file is empty, and no ClusterSnapshot; write one with `moult snapshot`")
	}
	if documents(content) > 1 {
		return nil, errors.New("the file holds more than one document; give one ClusterSnapshot a file of its own")
	}
	var head metav1.TypeMeta
	if err := unpacking.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("the file is neither YAML nor JSON, or it was cut: %w", err)
	}
	group, version, _ := strings.Cut(head.APIVersion, "/")
	switch {
	case head.Kind == "" && head.APIVersion == "":
		return nil, errors.New("the file has no apiVersion and no kind: it is no ClusterSnapshot, or it was cut; write one with `moult snapshot`")
	case head.Kind == "":
		return nil, errors.New("the file has no kind: it was cut; take the snapshot again")
	case head.Kind != Kind || group != Group:
		return nil, fmt.Errorf("the file holds a %s of %s, and not a %s of %s; write one with `moult snapshot`", head.Kind, head.APIVersion, Kind, APIVersion)
	case head.APIVersion != APIVersion:
		return nil, fmt.Errorf("the snapshot's format is %s, and this Moult reads %s; use the Moult that took it, or a newer one, or take it again with this one", version, APIVersion)
	}
	s := &Snapshot{}
	if err := unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("the snapshot was taken by a newer Moult, or was edited or cut: %w", err)
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("the snapshot was edited or cut: %w; take it anew with `moult snapshot`", err)
	}
	if err := s.checkDigest(); err != nil {
		return nil, err
	}
	return s, nil
}

// unmarshal refuses what is unknown, spelt with other capitals, or there twice.
func unmarshal(content []byte, into *Snapshot) error {
	content, err := unpacking.YAMLToJSONStrict(content)
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(content, into)
	if err != nil {
		return err
	}
	return errors.Join(strict...)
}

// documents counts those that are not empty. A line that begins with three dashes can be nothing else than a marker: what
// is inside of a document is indented.
func documents(content []byte) (n int) {
	within := false
	for line := range bytes.Lines(content) {
		switch line := bytes.TrimRight(line, " \t\r\n"); {
		case bytes.Equal(line, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")):
			within = false
		case len(line) > 0 && line[0] != '#' && !within:
			within = true
			n++
		}
	}
	return n
}

// Write is the snapshot as YAML; JSON turns it into JSON. Keys are sorted, which puts takenAt last, and takenAt has to be
// there: a file that was cut anywhere cannot be read.
func (s *Snapshot) Write() ([]byte, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	sealed := *s
	sealed.Digest = s.Sum()
	return yaml.Marshal(sealed)
}

// JSON is the snapshot as JSON.
func (s *Snapshot) JSON() ([]byte, error) {
	content, err := s.Write()
	if err != nil {
		return nil, err
	}
	compact, err := unpacking.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	indented := &bytes.Buffer{}
	if err := json.Indent(indented, compact, "", "  "); err != nil {
		return nil, err
	}
	return append(indented.Bytes(), '\n'), nil
}

// validate says what cannot be so in a snapshot that was taken.
func (s *Snapshot) validate() error {
	switch {
	case s.APIVersion != APIVersion || s.Kind != Kind:
		return fmt.Errorf("apiVersion and kind are not %s, %s", APIVersion, Kind)
	case strings.TrimSpace(s.Cluster) == "":
		return errors.New("cluster is missing, so the snapshot does not name the one that it is of")
	case s.TakenAt.IsZero():
		return errors.New("takenAt is missing")
	case s.LabelKey == "":
		return errors.New("labelKey is missing")
	case s.FieldManager == "":
		return errors.New("fieldManager is missing")
	}
	for i := range s.CRDs {
		if err := s.CRDs[i].validate(); err != nil {
			return err
		}
		if slices.ContainsFunc(s.CRDs[:i], func(other CRD) bool { return other.Name == s.CRDs[i].Name }) {
			return fmt.Errorf("CRD %s is there twice", s.CRDs[i].Name)
		}
	}
	for i := range s.Removals {
		if r := &s.Removals[i]; r.Name == "" || r.Namespace == "" || r.Generation < 1 || r.Spec.CRDName == "" || len(r.Spec.Versions) == 0 {
			return fmt.Errorf("VersionRemoval %s lacks its namespace, name, generation, crdName or versions", r.id())
		}
	}
	for _, n := range s.NotRead {
		if n.Why == "" || !slices.Contains([]What{CRDs, OneCRD, ObjectsOfCRD, FieldsOfCRD, Removals, References, APIServerMetrics}, n.What) {
			return fmt.Errorf("notRead has %q, which does not say what could not be read, or why", n.What)
		}
	}
	return nil
}

func (c *CRD) validate() error {
	storage := 0
	for _, v := range c.Versions {
		if v.Name == "" {
			return fmt.Errorf("CRD %s has a version without a name", c.Name)
		}
		if v.Storage {
			storage++
		}
	}
	switch {
	case c.Name == "":
		return errors.New("a CRD has no name")
	case c.UID == "" || c.Generation < 1:
		return fmt.Errorf("CRD %s lacks uid or generation", c.Name)
	case storage != 1:
		return fmt.Errorf("CRD %s has %d storage versions, and not one", c.Name, storage)
	case c.Objects != nil && c.Objects.Count < 0:
		return fmt.Errorf("CRD %s has fewer than no objects", c.Name)
	}
	return nil
}

// Sum is the digest of everything in a snapshot but Digest itself. It is that of the content and not of the file: a
// snapshot may be turned from YAML into JSON, indented and commented. It guards against accidents, above all against a
// merge that takes a CRD out of the middle. It is no guard against forgery: the sum can be counted anew.
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
		return fmt.Errorf("the snapshot of %s is not what was taken: its content does not match its digest. Something was taken out, added or changed since, by hand or by a merge; take it anew with `moult snapshot`", s.Cluster)
	}
	return nil
}
