package survivors

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// most bounds what is unpacked: whoever may write an object could pack what takes all memory to read. etcd takes 1.5 MiB of an
// object, and a Helm release of that size is a few MiB unpacked.
const (
	mostUnpacked  = 16 << 20
	mostDocument  = 3 << 20
	mostDocuments = 10_000
	// mostValues bounds the values in one document: each takes hundreds of bytes, however short it is written.
	mostValues = 200_000
)

// errTooLarge says that a payload is larger than what is unpacked of one.
var errTooLarge = errors.New("unpacked, it is larger than what is looked at")

// step takes off one packing, or leads on inside of what is unpacked, and gives each value with where it is.
type step func(at string, value any, take func(at string, value any)) error

// packings are the words of Field.Packing.
var packings = map[string]func(string) (any, error){
	"base64": func(s string) (any, error) {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
		return string(raw), err
	},
	"gzip": gunzip,
	"json": func(s string) (value any, err error) {
		if len(s) > mostUnpacked || valuesInJSON(s) > mostValues {
			return nil, errTooLarge
		}
		err = json.Unmarshal([]byte(s), &value)
		return value, err
	},
	"yaml": documents,
}

// parsePacking reads one word of Field.Packing.
func parsePacking(word string) (step, error) {
	if strings.HasPrefix(word, ".") {
		path, err := parsePath(word)
		return func(at string, value any, take func(string, any)) error {
			for where, inside := range path.values(at, value) {
				take(where, inside)
			}
			return nil
		}, err
	}
	unpack, known := packings[word]
	if !known {
		return nil, fmt.Errorf("packing %q is none of base64, gzip, json, yaml, and no path that begins with a dot", word)
	}
	return func(at string, value any, take func(string, any)) error {
		packed, ok := value.(string)
		if !ok {
			return fmt.Errorf("it is no text, and so not packed by %s", word)
		}
		inside, err := unpack(packed)
		if errors.Is(err, errTooLarge) {
			return err
		}
		if err != nil {
			return fmt.Errorf("it cannot be unpacked by %s", word) // the decoder's error may have a piece of a Secret in it
		}
		at += "|" + word
		if stream, ok := inside.(stream); ok {
			for i, document := range stream {
				take(at+"["+strconv.Itoa(i)+"]", document)
			}
			return nil
		}
		take(at, inside)
		return nil
	}, nil
}

// stream are the documents of a YAML stream.
type stream []any

func gunzip(s string) (any, error) {
	r, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		return nil, err
	}
	raw := &strings.Builder{}
	n, err := io.Copy(raw, io.LimitReader(r, mostUnpacked+1))
	switch {
	case err != nil:
		return nil, err
	case n > mostUnpacked:
		return nil, errTooLarge
	}
	return raw.String(), nil
}

// valuesInJSON is about how many values a document has: each but the first follows one of these characters, outside of texts.
func valuesInJSON(s string) (n int) {
	inside := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// valuesInYAML is how many values a document has at most. Texts have these characters, too.
func valuesInYAML(document []byte) (n int) {
	for _, c := range []string{"\n", ",", "[", "{"} {
		n += bytes.Count(document, []byte(c))
	}
	return n
}

// documents are those of a YAML stream that are not empty. A line that begins a document cannot be part of a text, whose lines
// are indented.
func documents(content string) (any, error) {
	if len(content) > mostUnpacked {
		return nil, errTooLarge
	}
	var all stream
	var one bytes.Buffer
	end := func() error {
		defer one.Reset()
		if len(all) == mostDocuments || one.Len() > mostDocument || valuesInYAML(one.Bytes()) > mostValues {
			return errTooLarge
		}
		var value any
		if err := yaml.Unmarshal(one.Bytes(), &value); err != nil {
			return err
		}
		if value != nil {
			all = append(all, value)
		}
		return nil
	}
	for line := range strings.Lines(content) {
		if bare := strings.TrimRight(line, "\r\n \t"); bare == "---" || strings.HasPrefix(bare, "--- ") {
			if err := end(); err != nil {
				return nil, err
			}
			line = strings.TrimPrefix(line, "---")
		}
		one.WriteString(line)
	}
	if err := end(); err != nil {
		return nil, err
	}
	return all, nil
}
