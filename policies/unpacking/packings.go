package unpacking

import (
	"compress/bzip2"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

// Base64 is what a text in base64 says.
func (b *Budget) Base64(s string) (string, error) {
	s = strings.TrimSpace(s)
	if err := b.Hold(2 * int64(base64.StdEncoding.DecodedLen(len(s)))); err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	return string(raw), err
}

// Gunzip is what gzip has packed.
func (b *Budget) Gunzip(s string) (string, error) {
	return b.unpack(s, windows, func(packed io.Reader) (io.Reader, error) { return gzip.NewReader(packed) })
}

// Bunzip2 is what bzip2 has packed.
func (b *Budget) Bunzip2(s string) (string, error) {
	return b.unpack(s, blocks, func(packed io.Reader) (io.Reader, error) { return bzip2.NewReader(packed), nil })
}

// unpack unpacks twice: how much it is has to be known before there is room for it.
func (b *Budget) unpack(s string, needs int64, reader func(packed io.Reader) (io.Reader, error)) (string, error) {
	if err := b.Hold(needs); err != nil {
		return "", err
	}
	r, err := reader(strings.NewReader(s))
	if err != nil {
		return "", err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, mostOfText+1))
	if err != nil {
		return "", err
	}
	if n > mostOfText {
		return "", ErrTooLarge
	}
	if err := b.Hold(n); err != nil {
		return "", err
	}
	if r, err = reader(strings.NewReader(s)); err != nil {
		return "", err
	}
	raw := &strings.Builder{}
	raw.Grow(int(n))
	_, err = io.Copy(raw, r)
	return raw.String(), err
}

// mostOfText is the longest text that may have been packed.
const mostOfText = 16 << 20

// windows is what gzip needs beside what it unpacks, and blocks what bzip2 does.
const (
	windows = 64 << 10
	blocks  = 4 << 20
)

// JSON is what a text in JSON says.
func (b *Budget) JSON(s string) (value any, err error) {
	if err := b.HoldJSON(s); err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(s), &value)
	return value, err
}

// HoldJSON draws what a text in JSON takes when it is read by whatever reads it.
func (b *Budget) HoldJSON(s string) error {
	cost, depth := CostOfJSON(s)
	if depth > deepest {
		return ErrTooLarge
	}
	return b.Hold(cost)
}

// deepest is how many lists and mappings may lie in one another: each is a call in what reads them.
const deepest = 1000

// What values take in memory, as they were measured (TestWhatValuesTake): a mapping has room for eight fields at once.
const (
	mappingTakes = 450
	listTakes    = 100
	valueTakes   = 130
)

// CostOfJSON is what a document takes in memory when it is read, about and at most, and how deep it goes. Each value but the first
// follows one of three characters, outside of texts.
func CostOfJSON[T string | []byte](s T) (cost int64, depth int) {
	cost = 2 * int64(len(s))
	inside, now := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == ',':
			cost += valueTakes
		case c == '{', c == '[':
			if cost += listTakes; c == '{' {
				cost += mappingTakes - listTakes
			}
			now++
			depth = max(depth, now)
		case c == '}', c == ']':
			now--
		}
	}
	return cost, depth
}
