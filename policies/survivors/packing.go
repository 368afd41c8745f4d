package survivors

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moult-dev/moult/policies/unpacking"
)

// step takes off one packing, or leads on inside of what is unpacked, and gives each value with where it is. What it gives is let
// go of when it returns.
type step func(b *unpacking.Budget, at string, value any, take func(at string, value any)) error

// packing takes a text out of it. The suffix says where in a stream a value is.
type packing func(b *unpacking.Budget, s string, take func(suffix string, value any)) error

// packings are the words of Field.Packing.
var packings = map[string]packing{
	"base64": whole((*unpacking.Budget).Base64),
	"gzip":   whole((*unpacking.Budget).Gunzip),
	"json":   whole((*unpacking.Budget).JSON),
	"yaml": func(b *unpacking.Budget, s string, take func(string, any)) error {
		n := 0
		for document, err := range b.Documents(s) {
			if err != nil {
				return err
			}
			take("["+strconv.Itoa(n)+"]", document)
			n++
		}
		return nil
	},
}

func whole[T any](unpack func(*unpacking.Budget, string) (T, error)) packing {
	return func(b *unpacking.Budget, s string, take func(string, any)) error {
		defer b.Mark()()
		inside, err := unpack(b, s)
		if err == nil {
			take("", inside)
		}
		return err
	}
}

// isBeyond reports whether something was not unpacked since the budget does not have it.
func isBeyond(err error) bool {
	return errors.Is(err, unpacking.ErrTooLarge) || errors.Is(err, unpacking.ErrUsedUp)
}

// parsePacking reads one word of Field.Packing.
func parsePacking(word string) (step, error) {
	if strings.HasPrefix(word, ".") {
		path, err := parsePath(word)
		return func(_ *unpacking.Budget, at string, value any, take func(string, any)) error {
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
	return func(b *unpacking.Budget, at string, value any, take func(string, any)) error {
		packed, ok := value.(string)
		if !ok {
			return fmt.Errorf("it is no text, and so not packed by %s", word)
		}
		at += "|" + word
		err := unpack(b, packed, func(suffix string, inside any) { take(at+suffix, inside) })
		if err != nil && !isBeyond(err) {
			return fmt.Errorf("it cannot be unpacked by %s", word) // the decoder's error may have a piece of a Secret in it
		}
		return err
	}, nil
}
