package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// snapshotJob is a job that takes a snapshot and commits it.
type snapshotJob struct {
	Commands []string
	Env      map[string]string
}

func gitHubsSnapshot(t *testing.T) snapshotJob {
	t.Helper()
	g := NewWithT(t)
	var workflow struct {
		Permissions map[string]string `json:"permissions"`
		Jobs        map[string]struct {
			Env   map[string]string `json:"env"`
			Steps []step            `json:"steps"`
		} `json:"jobs"`
	}
	parsed(t, "github/snapshot.yml", &workflow)
	g.Expect(workflow.Permissions).To(Equal(map[string]string{"contents": "write"}))
	job := workflow.Jobs["snapshot"]
	g.Expect(job.Steps).To(HaveLen(4))
	g.Expect(job.Steps[0].Uses).To(MatchRegexp(`^actions/checkout@[0-9a-f]{40}$`), "a tag of somebody else's action can be moved to other code")
	g.Expect(job.Steps[1].Uses).To(HavePrefix("moult-dev/moult/examples/ci/github/setup-moult@"))
	g.Expect(job.Steps[2].Env).To(HaveKeyWithValue("CONTENT", "${{ secrets.MOULT_KUBECONFIG }}"), "no other step gets it")
	job.Env["CONTENT"] = "a kubeconfig"
	return snapshotJob{Commands: []string{job.Steps[2].Run, job.Steps[3].Run}, Env: job.Env}
}

func gitLabsSnapshot(t *testing.T) snapshotJob {
	t.Helper()
	var template map[string]struct {
		Extends   string            `json:"extends"`
		Variables map[string]string `json:"variables"`
		Script    []string          `json:"script"`
	}
	parsed(t, "gitlab/moult-snapshot.gitlab-ci.yml", &template)
	job := template["moult-snapshot"]
	NewWithT(t).Expect(job.Extends).To(Equal(".setup-moult"), "of the other template")
	return snapshotJob{Commands: job.Script, Env: job.Variables}
}

// The jobs commit what moult snapshot writes, also if another commit has come meanwhile.
func TestASnapshotIsCommitted(t *testing.T) {
	for name, load := range map[string]func(*testing.T) snapshotJob{"GitHub": gitHubsSnapshot, "GitLab": gitLabsSnapshot} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			job, dir := load(t), t.TempDir()
			env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "RUNNER_TEMP="+dir,
				"CI_SERVER_HOST=git.example.com", "CI_DEFAULT_BRANCH=main", "CI_PROJECT_URL="+dir+"/project", "MOULT_KUBECONFIG="+written(t, "kubeconfig", "a kubeconfig\n"))
			for key, value := range job.Env {
				env = append(env, key+"="+value)
			}
			run := func(folder, commands string) string {
				t.Helper()
				shell := exec.CommandContext(t.Context(), "sh", "-euc", commands)
				shell.Dir, shell.Env = folder, env
				out, err := shell.CombinedOutput()
				g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, out)
				return string(out)
			}
			standIn := "#!/bin/sh\ntest \"$1 $2 $3 $4\" = 'snapshot --context production -f' && cat \"$KUBECONFIG\" >\"$5\"\n"
			g.Expect(os.WriteFile(filepath.Join(dir, "moult"), []byte(standIn), 0o700)).To(Succeed()) //nolint:gosec // it is a program
			const as = "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m "
			run(dir, "git init -q -b main --bare project.git && git -C project.git config receive.advertisePushOptions true && git clone -q project.git others")
			run(dir, "cd others && "+as+"first && git push -q origin HEAD:main && git clone -q ../project.git ../job && "+as+"second && git push -q origin HEAD:main")
			if name == "GitLab" {
				run(dir+"/job", "git checkout -q --detach")
			}
			run(dir+"/job", strings.Join(job.Commands, "\n"))
			g.Expect(run(dir, "git -C project.git show main:snapshots/production.yaml")).To(Equal("a kubeconfig\n"))
			g.Expect(run(dir, "git -C project.git log --format=%s main")).To(Equal("Snapshot of production\nsecond\nfirst\n"))
			g.Expect(filepath.Join(dir, "kubeconfig")).NotTo(BeAnExistingFile(), "no later step finds it")
		})
	}
}
