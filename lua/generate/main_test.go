package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/lua"
)

func TestTheActionsEntryHoldsTheScriptsAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	want, err := compose(lua.FS)
	g.Expect(err).NotTo(HaveOccurred())
	written, err := os.ReadFile(filepath.Join("..", target))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(written)).To(Equal(string(want)), "a script has changed; run `go generate ./lua`")
}
