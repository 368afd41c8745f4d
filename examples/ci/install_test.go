package ci_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// published is a release on loopback, signed with a key as cosign does it. test/tools/release has one that cosign has signed.
type published struct {
	*httptest.Server

	key string // its file
	mu  sync.Mutex
	// files are what is served, by name, below the folder of v9.9.9.
	files map[string][]byte
	asked []string
}

const (
	linux   = "moult_9.9.9_linux_amd64.tar.gz"
	darwin  = "moult_9.9.9_darwin_arm64.tar.gz"
	windows = "moult_9.9.9_windows_amd64.zip"
)

func publish(t *testing.T) *published {
	t.Helper()
	p := &published{files: map[string][]byte{linux: tarball(t), darwin: tarball(t), windows: zipball(t)}}
	var sums strings.Builder
	for name, content := range p.files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	fmt.Fprintf(&sums, "%x  install.yaml\n", sha256.Sum256(nil))
	p.files["checksums.txt"] = []byte(sums.String())
	p.key = p.sign(t)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		name := strings.TrimPrefix(r.URL.Path, "/v9.9.9/")
		p.asked = append(p.asked, name)
		content, there := p.files[name]
		if !there {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(p.Close)
	return p
}

// sign signs the checksums with a new key, and returns the file of its public half.
func (p *published) sign(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	digest := sha256.Sum256(p.files["checksums.txt"])
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	g.Expect(err).NotTo(HaveOccurred())
	p.files["checksums.txt.sigstore.json"], err = json.Marshal(map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "a key"}, "tlogEntries": []any{map[string]any{"signature": "of a log"}}},
		"messageSignature":     map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": digest[:]}, "signature": signature},
	})
	g.Expect(err).NotTo(HaveOccurred())
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	g.Expect(err).NotTo(HaveOccurred())
	return written(t, "moult.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
}

const program = "#!/bin/sh\necho released\n"

func tarball(t *testing.T) []byte {
	t.Helper()
	g := NewWithT(t)
	var content bytes.Buffer
	zipped := gzip.NewWriter(&content)
	archive := tar.NewWriter(zipped)
	g.Expect(archive.WriteHeader(&tar.Header{Name: "moult", Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg})).To(Succeed())
	_, err := archive.Write([]byte(program))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.Close()).To(Succeed())
	g.Expect(zipped.Close()).To(Succeed())
	return content.Bytes()
}

func zipball(t *testing.T) []byte {
	t.Helper()
	g := NewWithT(t)
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	entry, err := archive.Create("moult.exe")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = entry.Write([]byte(program))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.Close()).To(Succeed())
	return content.Bytes()
}

// altered is the same file, but for its last byte.
func altered(content []byte) []byte {
	content = bytes.Clone(content)
	content[len(content)-1] ^= 1
	return content
}

// action runs the script of setup-moult as a runner of GitHub does, and returns where it puts the program.
func action(t *testing.T, p *published, set map[string]string) (got ended, folder string) {
	t.Helper()
	g := NewWithT(t)
	var setup struct {
		Runs struct {
			Steps []step `json:"steps"`
		} `json:"runs"`
	}
	parsed(t, "github/setup-moult/action.yml", &setup)
	last := setup.Runs.Steps[len(setup.Runs.Steps)-1]
	temp := t.TempDir()
	at, err := filepath.Abs("github/setup-moult")
	g.Expect(err).NotTo(HaveOccurred())
	env := map[string]string{"RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": temp, "GITHUB_PATH": temp + "/path", "GITHUB_ACTION_PATH": at}
	inputs := map[string]string{"version": "v9.9.9", "releases": p.URL, "public-key": p.key, "identity": ""}
	for name, value := range last.Env {
		value = strings.ReplaceAll(value, "${{ runner.temp }}", temp)
		env[name] = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`).ReplaceAllStringFunc(value, func(input string) string {
			return inputs[strings.TrimSuffix(strings.TrimPrefix(input, "${{ inputs."), " }}")]
		})
	}
	for name, value := range set {
		env[name] = value
	}
	var out, errOut strings.Builder
	command := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", last.Run) //nolint:gosec // a step of the action
	command.Dir, command.Stdout, command.Stderr = temp, &out, &errOut
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "NO_PROXY=*"}
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	if err := command.Run(); command.ProcessState == nil {
		g.Expect(err).NotTo(HaveOccurred())
	}
	return ended{command.ProcessState.ExitCode(), out.String(), errOut.String()}, temp + "/moult-bin"
}

func TestTheActionInstallsAReleaseForItsPlatform(t *testing.T) {
	for what, c := range map[string]struct{ os, arch, archive, program string }{
		"Linux":   {"Linux", "X64", linux, "moult"},
		"macOS":   {"macOS", "ARM64", darwin, "moult"},
		"Windows": {"Windows", "X64", windows, "moult.exe"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			p := publish(t)
			got, folder := action(t, p, map[string]string{"RUNNER_OS": c.os, "RUNNER_ARCH": c.arch})
			g.Expect(got.code).To(BeZero(), got.errOut)
			g.Expect(got.out).To(ContainSubstring("moult v9.9.9 for " + strings.ToLower(strings.Replace(c.os, "macOS", "darwin", 1))))
			g.Expect(p.asked).To(Equal([]string{"checksums.txt", "checksums.txt.sigstore.json", c.archive}))
			said, err := exec.CommandContext(t.Context(), filepath.Join(folder, c.program)).Output() //nolint:gosec // the one above
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(said)).To(Equal("released\n"))
			g.Expect(os.ReadFile(filepath.Join(filepath.Dir(folder), "path"))).To(BeEquivalentTo(folder + "\n"))
		})
	}
}

func TestTheActionRefusesWhatItCannotVerify(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*testing.T, *published)
		set    map[string]string
		says   string
	}{
		"one byte of the archive differs": {
			change: func(_ *testing.T, p *published) { p.files[linux] = altered(p.files[linux]) },
			says:   linux + " is not what checksums.txt of v9.9.9 says",
		},
		"one byte of the checksums differs": {
			change: func(_ *testing.T, p *published) { p.files["checksums.txt"] = altered(p.files["checksums.txt"]) },
			says:   "checksums.txt of v9.9.9 is not signed by the key in ",
		},
		"another key signed the checksums": {
			change: func(t *testing.T, p *published) {
				t.Helper()
				p.sign(t)
			},
			says: "checksums.txt of v9.9.9 is not signed by the key in ",
		},
		"archive and checksums are replaced together": {
			change: func(_ *testing.T, p *published) {
				other := altered(p.files[linux])
				p.files["checksums.txt"] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(other), linux)
				p.files[linux] = other
			},
			says: "checksums.txt of v9.9.9 is not signed by the key in ",
		},
		"there is no signature": {
			change: func(_ *testing.T, p *published) { delete(p.files, "checksums.txt.sigstore.json") },
			says:   "checksums.txt.sigstore.json cannot be downloaded from ",
		},
		"there is no signature in the bundle": {
			change: func(_ *testing.T, p *published) { p.files["checksums.txt.sigstore.json"] = []byte("{}") },
			says:   "is not signed by the key in ",
		},
		"the key is none":                   {set: map[string]string{"PUBLIC_KEY": "/dev/null"}, says: "PUBLIC_KEY names /dev/null, which is no file or is empty"},
		"there is no build for the machine": {set: map[string]string{"RUNNER_ARCH": "ARM"}, says: "v9.9.9 has no build for linux/ARM; it has "},
		"there is no such release":          {set: map[string]string{"VERSION": "v9.9.8"}, says: "checksums.txt cannot be downloaded from "},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			p := publish(t)
			if c.change != nil {
				c.change(t, p)
			}
			got, folder := action(t, p, c.set)
			g.Expect(got.code).To(Equal(1), got.out)
			g.Expect(got.errOut).To(And(HavePrefix("install.sh: "), ContainSubstring(c.says), HaveSuffix("; nothing is installed\n")))
			g.Expect(filepath.Join(folder, "moult")).NotTo(BeAnExistingFile())
		})
	}
	t.Run("it names the platforms that there are", func(t *testing.T) {
		got, _ := action(t, publish(t), map[string]string{"RUNNER_OS": "FreeBSD"})
		NewWithT(t).Expect(got.errOut).To(And(ContainSubstring("no build for FreeBSD/amd64"), ContainSubstring("linux/amd64"), ContainSubstring("darwin/arm64"), ContainSubstring("windows/amd64")))
	})
}

func TestWhatTheCacheKeepsIsVerifiedAgain(t *testing.T) {
	g := NewWithT(t)
	p, cache := publish(t), t.TempDir()
	set := map[string]string{"CACHE": cache}
	got, _ := action(t, p, set)
	g.Expect(got.code).To(BeZero(), got.errOut)
	asked := len(p.asked)

	got, _ = action(t, p, set)
	g.Expect(got.code).To(BeZero(), got.errOut)
	g.Expect(p.asked).To(HaveLen(asked), "all of it is in the cache")

	g.Expect(os.WriteFile(filepath.Join(cache, "v9.9.9", linux), altered(p.files[linux]), 0o600)).To(Succeed())
	got, _ = action(t, p, set)
	g.Expect(got.errOut).To(ContainSubstring("is not what checksums.txt of v9.9.9 says"))
	got, _ = action(t, p, set)
	g.Expect(got.code).To(BeZero(), "what was refused is downloaded anew: "+got.errOut)
}

// Without a key, cosign decides. The one here writes down what it is asked.
func TestWithoutAKeyTheWorkflowHasToHaveSigned(t *testing.T) {
	for what, c := range map[string]struct {
		cosign, identity, asks, says string
		code                         int
	}{
		"the project's workflow signed": {cosign: "exit 0", asks: "https://github.com/moult-dev/moult/.github/workflows/release.yml@refs/tags/v9.9.9"},
		"another one counts":            {cosign: "exit 0", identity: "https://example.com/me", asks: "https://example.com/me"},
		"it did not":                    {cosign: "echo no matching signatures >&2; exit 1", code: 1, says: "is not signed by https://github.com/moult-dev/moult/.github/workflows/release.yml@refs/tags/v9.9.9 (no matching signatures)"},
		"there is no cosign":            {code: 1, says: "there is no cosign to verify the signature with"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			tools, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
			for _, tool := range []string{"bash", "sh", "curl", "uname", "tr", "sed", "mktemp", "rm", "sha256sum", "cut", "chmod", "mv", "mkdir", "tail", "tar", "gzip"} {
				at, err := exec.LookPath(tool)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(os.Symlink(at, filepath.Join(tools, tool))).To(Succeed())
			}
			if c.cosign != "" {
				text := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + asked + "\n" + c.cosign + "\n"
				g.Expect(os.WriteFile(filepath.Join(tools, "cosign"), []byte(text), 0o700)).To(Succeed()) //nolint:gosec // it is a program
			}
			cache := t.TempDir()
			got, _ := action(t, publish(t), map[string]string{"PUBLIC_KEY": "", "IDENTITY": c.identity, "CACHE": cache, "PATH": tools})
			g.Expect(got.code).To(Equal(c.code), got.errOut)
			g.Expect(got.errOut).To(ContainSubstring(c.says))
			if c.asks != "" {
				sums := filepath.Join(cache, "v9.9.9", "checksums.txt")
				g.Expect(strings.Fields(read(t, asked))).To(Equal([]string{"verify-blob", "--bundle", sums + ".sigstore.json",
					"--certificate-identity", c.asks, "--certificate-oidc-issuer", "https://token.actions.githubusercontent.com", sums}))
			}
		})
	}
}

func TestReleasesAreWhereTheOwnerPutsThem(t *testing.T) {
	found := regexp.MustCompile(`(?m)^DOWNLOADS=(.*)/VERSION$`).FindStringSubmatch(read(t, "../../test/tools/release/owner.env"))
	NewWithT(t).Expect(found).NotTo(BeNil())
	NewWithT(t).Expect(read(t, "scripts/install.sh")).To(ContainSubstring("releases=${RELEASES:-" + found[1] + "}"))
}
