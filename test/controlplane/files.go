package controlplane

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
)

const (
	etcdName      = "etcd"
	apiServerName = "kube-apiserver"
)

//go:embed launch.sh
var launchScript []byte

// files is the one temporary folder of a control plane: bin with a link per program, etcd, certs and a log per program.
type files struct{ dir string }

func newFiles(assetsDir string) (*files, error) {
	dir, err := os.MkdirTemp("", "moult-control-plane-")
	if err != nil {
		return nil, err
	}
	f := &files{dir: dir}
	if err := f.fill(assetsDir); err != nil {
		_ = f.remove()
		return nil, err
	}
	return f, nil
}

func (f *files) fill(assetsDir string) error {
	for _, folder := range []string{"bin", "etcd", "certs"} {
		if err := os.Mkdir(f.path(folder), 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink(assetsDir, f.path("bin", "assets")); err != nil {
		return err
	}
	if err := os.WriteFile(f.path("bin", "launch"), launchScript, 0o700); err != nil {
		return err
	}
	if err := f.link(etcdName); err != nil {
		return err
	}
	return f.link(apiServerName)
}

func (f *files) path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

// link makes program(name) start the asset of that name, less a trailing -<number>.
func (f *files) link(name string) error { return os.Symlink("launch", f.program(name)) }

func (f *files) program(name string) string { return f.path("bin", name) }

func (f *files) pid(name string) string { return f.program(name) + ".pid" }

// log is where a program writes: the given writer, or a file that is read again when a start fails.
func (f *files) log(name string, to io.Writer) (io.Writer, error) {
	if to != nil {
		return to, nil
	}
	return os.Create(f.path(name + ".log"))
}

// tokens writes the file that authenticates the admin by a token. A client certificate is verified with each request, which is a
// fifteenth of the server's work.
func (f *files) tokens() (file string, err error) {
	file = f.path("certs", "tokens.csv")
	return file, os.WriteFile(file, []byte(rand.Text()+`,admin,admin,"system:masters"`), 0o600)
}

// authenticate makes a config of the admin's certificate one of the admin's token.
func (f *files) authenticate(config *rest.Config) error {
	content, err := os.ReadFile(f.path("certs", "tokens.csv"))
	config.BearerToken, _, _ = strings.Cut(string(content), ",")
	config.CertData, config.KeyData = nil, nil
	return err
}

// lastLogLines is the end of every log, for the error of a failed start.
func (f *files) lastLogLines() string {
	logs, _ := filepath.Glob(f.path("*.log"))
	var tail strings.Builder
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		lines = lines[max(0, len(lines)-10):]
		fmt.Fprintf(&tail, "%s ends with:\n  %s\n", filepath.Base(log), strings.Join(lines, "\n  "))
	}
	return tail.String()
}

func (f *files) remove() error { return os.RemoveAll(f.dir) }
