package crdschema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/moult-dev/moult/policies/words"
)

// Check names the first of some patterns that no lost field is written as, and what to write instead.
func Check(patterns []string) error {
	for _, pattern := range patterns {
		switch want := spelt(pattern); want {
		case pattern:
		case "":
			return fmt.Errorf("%q is no path of a field; write one such as spec.hosts[*].port", words.Clip(pattern, words.MostQuoted))
		default:
			return fmt.Errorf("%q is no path of a field as it is written here; write %s", words.Clip(pattern, words.MostQuoted), words.Clip(want, words.MostQuoted))
		}
	}
	return nil
}

// spelt is a path as patterns have it: each has one spelling. Read are others, too: the index of an item, quotes that are not needed or
// are not these, a dot too many or one too few.
func spelt(text string) string {
	var path []byte
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		switch name := text[:end]; {
		case name == "*":
			path = append(dotted(path), name...)
		case name != "":
			path = joined(path, name)
		}
		if text = text[end:]; strings.HasPrefix(text, "[") {
			path, text = bracketed(path, text[1:])
		}
		text = strings.TrimPrefix(text, ".")
	}
	return string(path)
}

// bracketed adds what is between brackets to a path, and returns the text after them.
func bracketed(path []byte, text string) (longer []byte, rest string) {
	for _, quote := range []string{`"`, "'"} {
		if !strings.HasPrefix(text, quote) {
			continue
		}
		inside, rest, _ := strings.Cut(text[1:], quote+"]")
		name := inside
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &name); err != nil {
			name = inside
		}
		return joined(path, name), rest
	}
	inside, rest, _ := strings.Cut(text, "]")
	if strings.Trim(inside, "*0123456789") == "" {
		return append(path, "[*]"...), rest
	}
	return joined(path, inside), rest
}
