package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// index is what setup-envtest fetches from, on loopback: archives of programs, and the list of them.
type index struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string
}

// offer is one version in the index, v1.37.0 unless it says otherwise.
type offer struct {
	version string
	files   map[string]string // what the archive holds; programs if nil
	// spoil changes what is sent, and sum what the index says of it, each if not nil.
	spoil func([]byte) []byte
	sum   func(sent []byte) []byte
	// answer, if not nil, answers in place of the archive.
	answer http.HandlerFunc
}

// program is a stub that says its version and does nothing else.
func program(answer string) string { return "#!/bin/sh\necho '" + answer + "'\n" }

// programs are those of one version of Kubernetes.
func programs(version string) map[string]string {
	return map[string]string{
		"kube-apiserver": program("Kubernetes " + version),
		"etcd":           program("etcd Version: 3.6.4"),
		"kubectl":        program("no part of the story"),
	}
}

// serve starts an index that is right, but for what is wrong with an offer.
func serve(t *testing.T, offers ...offer) *index {
	t.Helper()
	i, list, mux := &index{}, "releases:\n", http.NewServeMux()
	for _, o := range offers {
		if o.version == "" {
			o.version = "v1.37.0"
		}
		if o.files == nil {
			o.files = programs(o.version)
		}
		sent := archive(t, o.files)
		sum := sha512.Sum512(sent)
		if o.spoil != nil {
			sent = o.spoil(sent)
		}
		if o.sum != nil {
			sum = sha512.Sum512(o.sum(sent))
		}
		if o.answer == nil {
			o.answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(sent) }
		}
		name := fmt.Sprintf("envtest-%s-%s-%s.tar.gz", o.version, runtime.GOOS, runtime.GOARCH)
		mux.HandleFunc("/"+name, o.answer)
		list += fmt.Sprintf("  %s:\n    %s:\n      hash: %s\n      selfLink: URL/%s\n", o.version, name, hex.EncodeToString(sum[:]), name)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.ReplaceAll(list, "URL", i.URL)))
	})
	return i.start(t, mux)
}

func (i *index) start(t *testing.T, handler http.Handler) *index {
	t.Helper()
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.requests = append(i.requests, r.URL.Path)
		i.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		i.CloseClientConnections()
		i.Close()
	})
	return i
}

// requested are the paths that were asked for.
func (i *index) requested() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	g := NewWithT(t)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	tape := tar.NewWriter(zip)
	for name, content := range files {
		g.Expect(tape.WriteHeader(&tar.Header{Name: "controller-tools/envtest/" + name, Mode: 0o755, Size: int64(len(content))})).To(Succeed())
		_, err := tape.Write([]byte(content))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(tape.Close()).To(Succeed())
	g.Expect(zip.Close()).To(Succeed())
	return packed.Bytes()
}

func half(sent []byte) []byte { return sent[:len(sent)/2] }

// breakOff announces an archive, sends its beginning, and ends the connection.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(1<<20))
	_, _ = w.Write(make([]byte, 1<<10))
}

// hang sends nothing until whoever asked has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// dryUp sends the beginning of an archive, and then nothing until whoever asked has gone.
func dryUp(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(1<<20))
	_, _ = w.Write(make([]byte, 1<<10))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
