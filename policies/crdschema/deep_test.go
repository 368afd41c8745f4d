package crdschema_test

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/crdschema"
)

// The path of a field is as long as it lies deep, and anybody may write many of them into one object.
func TestManyFieldsThatLieDeepTakeNoMoreThanTheirObject(t *testing.T) {
	g := NewWithT(t)
	const levels, keys = 100, 20_000
	in := func(bottom string) string {
		return strings.Repeat(`{type: object, properties: {a: `, levels) + bottom + strings.Repeat(`}}`, levels)
	}
	fields := map[string]any{}
	for i := range keys {
		fields[fmt.Sprintf("k%05d", i)] = "x"
	}
	content := any(fields)
	for range levels {
		content = map[string]any{"a": content}
	}
	finder, err := crdschema.Of(crd(t, in(`{type: object, additionalProperties: {type: string}}`), in(`{type: object}`)))
	g.Expect(err).NotTo(HaveOccurred())
	var lost []string
	object, _ := content.(map[string]any)
	g.Expect(held(func() { lost, err = finder.Lost(object, "v1alpha1") })).To(BeNumerically("<", 20<<20))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lost).To(HaveLen(1))
}

// held is how many bytes a function holds at most, about: garbage is collected all the time.
func held(f func()) (most int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	now := func() int64 {
		var stats goruntime.MemStats
		goruntime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	goruntime.GC()
	before, ended := now(), make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	for {
		select {
		case <-ended:
			return most
		case <-time.After(time.Millisecond):
			most = max(most, now()-before)
		}
	}
}
