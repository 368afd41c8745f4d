package delivery

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// Inside are the CRDs that an object holds for somebody else to apply. They are objects in its fields, as in a
// ManifestWork, or text, as in a ConfigMap of a ClusterResourceSet. Unread are texts that hold CRDs and cannot be read
// as manifests, such as templates, or that are packed in a way that is not unpacked here. Encrypted texts are among them, where an
// object may be for that.
func (o *Object) Inside() (crds []*Object, unread []string) {
	return o.Holds(holdsCRD, func(inner *Object) bool { return inner.IsCRD() && inner.Object["spec"] != nil })
}

// Holds are those of the objects in another one that are wanted, and the texts that cannot be read, as Inside has them for CRDs. A text is
// read if it may have wanted ones, by what it mentions.
func (o *Object) Holds(mentions func(text string) bool, wanted func(*Object) bool) (held []*Object, unread []string) {
	if o.IsCRD() {
		return nil, nil
	}
	s := &insides{holder: o, mentions: mentions, wanted: wanted}
	for _, key := range slices.Sorted(maps.Keys(o.Object)) {
		if key != "metadata" { // annotations have what kubectl has applied
			s.look(o.Object[key], 0)
		}
	}
	return s.held, s.unread
}

// Holder is an object that holds CRDs for others, as it is shown to a person.
func (o *Object) Holder() string {
	return o.GetKind() + " " + words.FullName(o.GetNamespace(), o.GetName())
}

// AsksOtherwise is why CRDs that an object holds count as unseen where Asks changes.
const AsksOtherwise = "it holds CRDs, and its other fields say what becomes of them"

// Asks stands for what an object says about the CRDs that it holds: that they must not exist, for example, or what happens to them when
// the object goes. Plain data, such as a ConfigMap, says nothing, and what Flux and Argo CD do is looked at elsewhere.
func (o *Object) Asks() string {
	if !strings.Contains(o.GroupVersionKind().Group, ".") || ToolOf(o) != "" || o.GetKind() == "HelmRelease" {
		return ""
	}
	return fmt.Sprint(withoutObjects(o.Object["spec"])) // in the order of the keys
}

// withoutObjects is a value without the objects and the texts of several lines in it.
func withoutObjects(value any) any {
	switch v := value.(type) {
	case []any:
		left := make([]any, len(v))
		for i, item := range v {
			left[i] = withoutObjects(item)
		}
		return slices.DeleteFunc(left, func(item any) bool { return item == nil })
	case map[string]any:
		if v["kind"] != nil && v["apiVersion"] != nil {
			return nil
		}
		left := map[string]any{}
		for key, item := range v {
			left[key] = withoutObjects(item)
		}
		return left
	case string:
		if strings.Contains(v, "\n") {
			return nil
		}
	}
	return value
}

// WithoutHash is a name without what Kustomize puts behind the names of ConfigMaps and Secrets that it generates.
func WithoutHash(name string) string { return generatedSuffix.ReplaceAllString(name, "") }

// https://github.com/kubernetes-sigs/kustomize/blob/kyaml/v0.21.1/api/hasher/hasher.go (encode)
var generatedSuffix = regexp.MustCompile(`-[2456789bcdfghkmt]{10}$`)

// insides is a look into one object.
type insides struct {
	holder   *Object
	mentions func(text string) bool
	wanted   func(*Object) bool
	held     []*Object
	unread   []string
}

const (
	// mostNested is how deep objects and texts may lie in one another.
	mostNested = 64
	crdKind    = "CustomResourceDefinition"
	crdGroup   = "apiextensions.k8s.io"
)

func (s *insides) look(value any, depth int) {
	if depth > mostNested {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if inner := Wrap(v); inner.GetKind() != "" && s.wanted(inner) {
			inner.At = s.holder.Place
			s.held = append(s.held, inner)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.look(v[key], depth+1)
		}
	case []any:
		for _, inner := range v {
			s.look(inner, depth+1)
		}
	case string:
		s.text(v, depth)
	}
}

// text looks into a text, which may be packed as in a Secret.
func (s *insides) text(text string, depth int) {
	if strings.HasPrefix(text, Encrypted) && s.holder.isForOthers() {
		s.unread = append(s.unread, text)
		return
	}
	if !s.mentions(text) {
		packed := text
		if text = unpacked(packed); isPacked(text) {
			s.unread = append(s.unread, packed)
			return
		}
		if !s.mentions(text) {
			return
		}
	}
	for document, err := range unpacking.One().Documents(text) {
		if err != nil {
			s.unread = append(s.unread, text)
			return
		}
		if _, isText := document.(string); isText {
			continue // words about manifests
		}
		var value any
		if raw, err := json.Marshal(document); err == nil && utiljson.Unmarshal(raw, &value) == nil { // numbers as an object has them
			s.look(value, depth+1)
		}
	}
}

// Encrypted is what a value begins with that SOPS has encrypted.
const Encrypted = "ENC["

// isForOthers reports whether an object may hold manifests, as those of a ClusterResourceSet do. Such Secrets have a type of their own.
func (o *Object) isForOthers() bool {
	kind := o.Text("type")
	isOwn := kind != "" && kind != "Opaque" && !strings.Contains(kind, "kubernetes.io/")
	return o.Is("", "ConfigMap") || o.Is("", "Secret") && isOwn
}

// unpacked is what is in base64, and maybe in gzip or bzip2, as ConfigMaps of Cluster API's operator and of charts have it; empty for what
// is not.
func unpacked(text string) string {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	plain := string(decoded)
	switch {
	case strings.HasPrefix(plain, "\x1f\x8b"):
		plain, err = unpacking.One().Gunzip(plain)
	case strings.HasPrefix(plain, "BZh"):
		plain, err = unpacking.One().Bunzip2(plain)
	}
	if err != nil {
		return ""
	}
	return plain
}

// isPacked reports whether xz, zstd or zip have packed something, which may be CRDs and is not unpacked here.
func isPacked(text string) bool {
	return slices.ContainsFunc([]string{"\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "PK\x03\x04"}, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

func holdsCRD(text string) bool {
	return strings.Contains(text, crdKind) && strings.Contains(text, crdGroup)
}
