package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// installsWithKrew has krew validate the manifest, install every platform of it, and then the one of this machine from its
// archive. owner.env says where the archives will be; here they are on loopback.
func installsWithKrew(t *testing.T, out string) {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(server.Close)
	manifest, err := os.ReadFile(filepath.Join(out, "moult.krew.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	text := strings.ReplaceAll(string(manifest), "https://github.com/moult-dev/moult/releases/download/v0.1.0", server.URL)
	p := place{dist: t.TempDir(), tools: t.TempDir()}
	g.Expect(os.WriteFile(filepath.Join(p.dist, "moult.yaml"), []byte(text), 0o600)).To(Succeed())
	krew := pinned(t, p.tools, "../krew", "sigs.k8s.io/krew/cmd/krew")
	validate := pinned(t, p.tools, "../krew", "sigs.k8s.io/krew/cmd/validate-krew-manifest")
	// krew's validation calls krew as the plug-in of kubectl that it is.
	g.Expect(os.WriteFile(filepath.Join(p.tools, "kubectl"), []byte("#!/bin/sh\nshift\nexec '"+krew+"' \"$@\"\n"), 0o700)).To(Succeed()) //nolint:gosec // it is a program
	root := t.TempDir()
	p.env = append(os.Environ(), "PATH="+p.tools+":"+os.Getenv("PATH"), "KREW_ROOT="+root, "KREW_NO_UPGRADE_CHECK=1")

	g.Expect(p.run(t, validate, "-manifest", "moult.yaml")).To(ContainSubstring("all 2 spec.platforms installed fine"))

	archive := filepath.Join(out, "moult_0.1.0_linux_"+runtime.GOARCH+".tar.gz")
	server.Close()
	p.run(t, krew, "install", "--manifest=moult.yaml", "--archive="+archive)
	plugin := filepath.Join(root, "bin", "kubectl-moult")
	g.Expect(p.run(t, plugin, "version")).To(HavePrefix("moult v0.1.0 "))

	// No cluster is needed to see that it runs: it asks the one that its kubeconfig names.
	asked := make(chan string, 100)
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.UserAgent() + " " + r.URL.Path:
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinitionList","metadata":{"resourceVersion":"1"},"items":[]}`))
	}))
	t.Cleanup(cluster.Close)
	config := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: '" + cluster.URL + "'}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
	g.Expect(os.WriteFile(filepath.Join(p.dist, "config"), []byte(config), 0o600)).To(Succeed())
	_, err = p.try(t, plugin, "status", "--kubeconfig", "config")
	g.Expect(err).To(MatchError("exit status 1"), "no CRD is opted in")
	g.Expect(<-asked).To(And(HavePrefix("moult/v0.1.0 ("), HaveSuffix(") /apis/apiextensions.k8s.io/v1/customresourcedefinitions")))

	g.Expect(os.WriteFile(filepath.Join(p.dist, "other.tar.gz"), []byte("something else"), 0o600)).To(Succeed())
	p.env = append(p.env, "KREW_ROOT="+t.TempDir())
	_, err = p.try(t, krew, "install", "--manifest=moult.yaml", "--archive=other.tar.gz")
	g.Expect(err).To(HaveOccurred(), "it is not what the manifest has the sum of")
}
