// Package streams changes answers of the API server while they are read, so that what is not wanted of them is never in memory as a whole.
package streams

import (
	"cmp"
	"encoding/json/jsontext"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Change returns what stands in the place of the value of a field, nil if it stays. It is asked about objects ('{') and lists ('[').
type Change func(name string, kind jsontext.Kind) func(value jsontext.Value) (jsontext.Value, error)

// Transport changes the JSON answers to requests for some paths.
func Transport(next http.RoundTripper, of func(path string) bool, change Change) http.RoundTripper {
	return &transport{cmp.Or(next, http.DefaultTransport), of, change}
}

type transport struct {
	next   http.RoundTripper
	of     func(path string) bool
	change Change
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(req)
	if err != nil || answer.StatusCode != http.StatusOK || !t.of(req.URL.Path) || !strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeJSON) {
		return answer, err
	}
	body := answer.Body
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(Copy(in, body, t.change)) }()
	answer.Body, answer.ContentLength = piped{out, body}, -1
	return answer, nil
}

// piped is a body that is read through a pipe.
type piped struct {
	*io.PipeReader
	body io.Closer
}

func (p piped) Close() error { return errors.Join(p.PipeReader.Close(), p.body.Close()) }

// Copy copies JSON with changes, a watch's events each as soon as it has come.
func Copy(to io.Writer, from io.Reader, change Change) error {
	as := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)} // the decoder behind it takes both
	in, out := jsontext.NewDecoder(from, as...), jsontext.NewEncoder(to, as...)
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := ""
		if token.Kind() == '"' {
			name = token.String()
		}
		if err := out.WriteToken(token); err != nil {
			return err
		}
		if kind := in.PeekKind(); name != "" && (kind == '{' || kind == '[') {
			if err := replace(in, out, change(name, kind)); err != nil {
				return err
			}
		}
	}
}

func replace(in *jsontext.Decoder, out *jsontext.Encoder, by func(jsontext.Value) (jsontext.Value, error)) error {
	if by == nil {
		return nil
	}
	value, err := in.ReadValue()
	if err != nil {
		return err
	}
	if value, err = by(value); err != nil {
		return err
	}
	return out.WriteValue(value)
}
