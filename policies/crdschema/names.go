package crdschema

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// longestName is how much of a name is written, in bytes, and keptOfName how much of one that is longer. A key may be as long as an
	// object, and each field below it has the key in its path.
	longestName = 250
	keptOfName  = 100
	// mostText is how long the paths of one object are that are written, in bytes, all together.
	mostText = 4 << 20
	// More stands for the paths that are not written. No pattern allows it.
	More = "[more fields than are listed]"
)

// names are those that were too long to be written, by what is written instead.
type names map[string]string

// short is a name, or its beginning and a digest of it, so that no two are written in the same way.
func (n names) short(name string) string {
	if len(name) <= longestName {
		return name
	}
	short, known := n[name]
	if !known {
		sum := sha256.Sum256([]byte(name))
		short = strings.ToValidUTF8(name[:keptOfName], "") + "…" + hex.EncodeToString(sum[:16])
		n[name] = short
	}
	return short
}

// Texts are paths as text, as far as there is room for them. The zero value has none.
type Texts struct {
	all   []string
	known names
	bytes int
}

// Add adds a path.
func (t *Texts) Add(p Path) {
	if t.bytes > mostText {
		return
	}
	if t.known == nil {
		t.known = names{}
	}
	text := p.text(t.known)
	if t.bytes += len(text); t.bytes > mostText {
		text = More
	}
	t.all = append(t.all, text)
}

// Sorted has each once.
func (t *Texts) Sorted() []string {
	slices.Sort(t.all)
	return slices.Compact(t.all)
}
