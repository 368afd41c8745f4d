package ci_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// ended is how a script ended.
type ended struct {
	code        int
	out, errOut string
}

// script runs one of the scripts in a folder, with these variables and no others.
func script(t *testing.T, dir, name string, env map[string]string, args ...string) ended {
	t.Helper()
	g := NewWithT(t)
	file, err := filepath.Abs(filepath.Join("scripts", name))
	g.Expect(err).NotTo(HaveOccurred())
	for _, program := range []string{"sh", "curl", "jq"} {
		_, err := exec.LookPath(program)
		g.Expect(err).NotTo(HaveOccurred(), "the scripts need it; install "+program)
	}
	var out, errOut strings.Builder
	command := exec.CommandContext(t.Context(), "sh", append([]string{file}, args...)...)
	command.Dir, command.Stdout, command.Stderr = dir, &out, &errOut
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "NO_PROXY=*"}
	for key, value := range env {
		command.Env = append(command.Env, key+"="+value)
	}
	if err := command.Run(); command.ProcessState == nil {
		g.Expect(err).NotTo(HaveOccurred())
	}
	return ended{command.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// written makes a file in a folder of its own.
func written(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	NewWithT(t).Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	return file
}

// remark is a comment of GitHub or a note of GitLab.
type remark struct {
	id     int
	author string
	body   string
}

// host is GitHub or GitLab, as far as comments go.
type host struct {
	*httptest.Server

	mu      sync.Mutex
	remarks []remark
	asked   []string
	tokens  []string
	// refuse answers in place of the host, if it is set.
	refuse func(*http.Request) (code int, answer string)
}

// bodies are what has been said, in the order in which it was.
func (h *host) bodies(author string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.remarks {
		if r.author == author {
			all = append(all, r.body)
		}
	}
	return all
}

// talk has others say something, so many times.
func (h *host) talk(times int) {
	for range times {
		h.add("somebody", "I like \"quotes\", \\ and\nlines\n"+marker)
	}
}

func (h *host) add(author, body string) remark {
	r := remark{id: 4_000_000_000 + len(h.remarks), author: author, body: body}
	h.remarks = append(h.remarks, r)
	return r
}

// page is what a request for a list asks for.
func (h *host) page(r *http.Request) []remark {
	most, page := number(r, "per_page"), number(r, "page")
	first := min((page-1)*most, len(h.remarks))
	return h.remarks[first:min(first+most, len(h.remarks))]
}

func number(r *http.Request, name string) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 1 || n > 100 {
		panic(name + " is no number from 1 to 100")
	}
	return n
}

func answer(w http.ResponseWriter, code int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(content) // a client that is gone needs no answer
}

// open starts a host with a handler that is asked under a lock.
func open(t *testing.T, handler func(*host, http.ResponseWriter, *http.Request)) *host {
	t.Helper()
	h := &host{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked = append(h.asked, r.Method+" "+r.URL.Path)
		h.tokens = append(h.tokens, r.Header.Get("Authorization")+r.Header.Get("Private-Token"))
		if h.refuse != nil {
			if code, said := h.refuse(r); code != 0 {
				w.WriteHeader(code)
				_, _ = w.Write([]byte(said))
				return
			}
		}
		handler(h, w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

const marker = "<!-- moult preview: default -->"

const report = marker + "\n## Blocked: \"widgets\" \\ 100 % & more\n\n| a | b |\n"
