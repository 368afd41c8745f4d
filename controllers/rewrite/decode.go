package rewrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

// mostUndecoded is how many objects that cannot be decoded are named.
const mostUndecoded = 5

// mostAlone is what an object may take when it is decoded, in bytes. What etcd stores in 1.5 MiB takes less, and a conversion webhook may
// make more of it.
const mostAlone = 96 << 20

// Undecoded is the error of a list with objects that cannot be decoded. All others were read.
type Undecoded struct {
	Objects []FailedObject // the first of them
	All     int
}

func (u *Undecoded) Error() string {
	named := words.Of(u.Objects, func(f FailedObject) string {
		return strings.TrimPrefix(f.NamespacedName.String(), "/") + ": " + f.Message
	})
	if rest := u.All - len(named); rest > 0 {
		named = append(named, fmt.Sprintf("and %d more", rest))
	}
	return words.Count(int64(u.All), "object") + " cannot be decoded: " + strings.Join(named, "; ")
}

func (u *Undecoded) add(object FailedObject) {
	if u.All++; len(u.Objects) < mostUndecoded {
		u.Objects = append(u.Objects, object)
	}
}

func (u *Undecoded) addAll(more *Undecoded) {
	for _, object := range more.Objects {
		u.add(object)
	}
	u.All += more.All - len(more.Objects)
}

// orNil is the error, if there is any such object.
func (u *Undecoded) orNil() error {
	if u.All == 0 {
		return nil
	}
	return u
}

// decodePage decodes a list. An object of 10,000 levels is accepted by the API server, and decoded alone. In a list it has two more, and
// encoding/json takes no more than 10,000. So if a list cannot be decoded, its objects are, one by one.
func decodePage(raw []byte) (*unstructured.UnstructuredList, *Undecoded, error) {
	page, err := &unstructured.UnstructuredList{}, fits(raw)
	if err == nil {
		err = runtime.DecodeInto(unstructured.UnstructuredJSONScheme, raw, page)
	}
	if err == nil {
		return page, &Undecoded{}, nil
	}
	from, to, found := member(raw, "items")
	if !found {
		return nil, nil, err
	}
	page = &unstructured.UnstructuredList{}
	if err := runtime.DecodeInto(unstructured.UnstructuredJSONScheme, slices.Concat(raw[:from], []byte("[]"), raw[to:]), page); err != nil {
		return nil, nil, err
	}
	failed := &Undecoded{}
	eachMember(raw[from:to], func(_ string, start, end int) {
		text := raw[from+start : from+end]
		item, err := decodeItem(text, page)
		if err != nil {
			failed.add(FailedObject{NamespacedName: nameIn(text), Reason: reasonOther, Message: err.Error()})
			return
		}
		page.Items = append(page.Items, *item)
	})
	return page, failed, nil
}

// fits is an error of what is too large to be decoded.
func fits(raw []byte) error {
	if takes := unpacking.SizeOfJSON(raw); takes > mostAlone {
		return fmt.Errorf("it takes %d MiB when it is decoded, and there is memory for %d", takes>>20, mostAlone>>20)
	}
	return nil
}

// decodeItem decodes an object of a list. In a list of a built-in resource it has neither apiVersion nor kind.
func decodeItem(text []byte, list *unstructured.UnstructuredList) (*unstructured.Unstructured, error) {
	item := &unstructured.Unstructured{}
	if err := fits(text); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(text, &item.Object); err != nil {
		return nil, err
	}
	if item.GetKind() == "" {
		item.SetAPIVersion(list.GetAPIVersion())
		item.SetKind(strings.TrimSuffix(list.GetKind(), "List"))
	}
	return item, nil
}

// nameIn reads the name of an object that cannot be decoded.
func nameIn(text []byte) (name types.NamespacedName) {
	from, to, found := member(text, "metadata")
	if !found {
		return name
	}
	metadata := text[from:to]
	for key, of := range map[string]*string{"namespace": &name.Namespace, "name": &name.Name} {
		if from, to, found := member(metadata, key); found {
			_ = json.Unmarshal(metadata[from:to], of)
		}
	}
	return name
}

// member is where the value of a key is in the text of a JSON object.
func member(text []byte, key string) (from, to int, found bool) {
	eachMember(text, func(name string, start, end int) {
		if name == `"`+key+`"` {
			from, to, found = start, end, true
		}
	})
	return from, to, found
}

// eachMember goes through the values of a JSON object or list, however deep they are. An item of a list has no key.
func eachMember(text []byte, take func(key string, from, to int)) {
	object := bytes.HasPrefix(text, []byte("{"))
	if !object && !bytes.HasPrefix(text, []byte("[")) {
		return
	}
	for at := begin(text, 1); at < len(text) && text[at] != '}' && text[at] != ']'; {
		key, from := "", at
		if object {
			to := skip(text, at)
			key, from = string(text[at:to]), begin(text, to)
		}
		to := skip(text, from)
		take(key, from, to)
		at = begin(text, to)
	}
}

// begin is where the next key or value begins.
func begin(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n,:", text[at]) >= 0 {
		at++
	}
	return at
}

// skip is where the value ends that begins at a place.
func skip(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue // a number, true, false or null, which ends before one of the others
		}
		if depth < 0 {
			return at
		}
		if depth == 0 {
			return min(at+1, len(text))
		}
	}
	return len(text)
}
