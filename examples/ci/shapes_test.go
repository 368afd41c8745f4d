package ci_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/builders"
)

func parsed(t *testing.T, file string, into any) {
	t.Helper()
	NewWithT(t).Expect(yaml.Unmarshal([]byte(read(t, file)), into)).To(Succeed(), file)
}

type step struct {
	Run  string            `json:"run"`
	Uses string            `json:"uses"`
	ID   string            `json:"id"`
	Env  map[string]string `json:"env"`
	With map[string]any    `json:"with"`
}

// settings are the variables that a script says it reads.
func settings(t *testing.T, script string) []string {
	t.Helper()
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^# {3}([A-Z][A-Z0-9_]+)\b`).FindAllStringSubmatch(read(t, "scripts/"+script), -1) {
		names = append(names, found[1])
	}
	return names
}

func TestTheActionUsesTheScripts(t *testing.T) {
	g := NewWithT(t)
	var action struct {
		Inputs map[string]any `json:"inputs"`
		Runs   struct {
			Using string `json:"using"`
			Steps []step `json:"steps"`
		} `json:"runs"`
	}
	parsed(t, "github/action.yml", &action)
	g.Expect(action.Runs.Using).To(Equal("composite"))
	steps := action.Runs.Steps
	g.Expect(steps).To(HaveLen(4))
	g.Expect(settings(t, "preview.sh")).To(ContainElements(slices.Collect(maps.Keys(steps[0].Env))), "the script reads what the step sets")
	g.Expect(settings(t, "comment-github.sh")).To(ContainElements(slices.Collect(maps.Keys(steps[2].Env))))
	for _, script := range []string{steps[0].Run, steps[2].Run} {
		name := regexp.MustCompile(`\.\./scripts/[a-z-]+\.sh`).FindString(script)
		g.Expect(filepath.Join("github", name)).To(BeAnExistingFile())
	}
	for _, setting := range []string{"ENTRIES", "SNAPSHOTS", "CONTEXTS", "CHARTS", "ALLOW_HOSTS", "MAX_AGE", "FAIL_ON"} {
		g.Expect(steps[0].Env).To(HaveKeyWithValue(setting, "${{ inputs."+strings.ReplaceAll(strings.ToLower(setting), "_", "-")+" }}"))
	}
	g.Expect(steps[3].Run).To(Equal(`exit "$EXIT_CODE"`), "the verdict decides, last of all")
	for _, used := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(read(t, "github/action.yml"), -1) {
		g.Expect(action.Inputs).To(HaveKey(used[1]))
	}

	var workflow struct {
		Permissions map[string]string `json:"permissions"`
		Jobs        map[string]struct {
			Steps []step `json:"steps"`
		} `json:"jobs"`
	}
	parsed(t, "github/workflow.yml", &workflow)
	g.Expect(workflow.Permissions).To(HaveKeyWithValue("pull-requests", "write"))
	all := workflow.Jobs["preview"].Steps
	g.Expect(all[0].With).To(HaveKeyWithValue("fetch-depth", BeEquivalentTo(0)))
	g.Expect(all[1].Uses).To(HavePrefix("moult-dev/moult/examples/ci/github/setup-moult@"), "the preview takes what it installs")
	g.Expect(action.Inputs).To(HaveKey("entries"))
	for name := range all[len(all)-1].With {
		g.Expect(action.Inputs).To(HaveKey(name))
	}
}

func TestSetupMoultUsesTheScript(t *testing.T) {
	g := NewWithT(t)
	var action struct {
		Inputs map[string]any `json:"inputs"`
		Runs   struct {
			Steps []step `json:"steps"`
		} `json:"runs"`
	}
	parsed(t, "github/setup-moult/action.yml", &action)
	steps := action.Runs.Steps
	g.Expect(steps).To(HaveLen(3))
	for _, s := range steps[:2] {
		g.Expect(s.Uses).To(MatchRegexp(`@[0-9a-f]{40}$`), "a tag of somebody else's action can be moved to other code")
	}
	g.Expect(steps[0].With["path"]).To(Equal(steps[2].Env["CACHE"]))
	g.Expect(settings(t, "install.sh")).To(ContainElements(slices.Collect(maps.Keys(steps[2].Env))), "the script reads what the step sets")
	for _, used := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(read(t, "github/setup-moult/action.yml"), -1) {
		g.Expect(action.Inputs).To(HaveKey(used[1]))
	}
}

func TestGitLabsTemplateUsesTheScripts(t *testing.T) {
	g := NewWithT(t)
	var template map[string]struct {
		Extends   string            `json:"extends"`
		Variables map[string]string `json:"variables"`
		Cache     struct {
			Paths []string `json:"paths"`
		} `json:"cache"`
		BeforeScript []string `json:"before_script"`
		Script       []string `json:"script"`
		Artifacts    struct {
			Paths   []string          `json:"paths"`
			Reports map[string]string `json:"reports"`
		} `json:"artifacts"`
	}
	parsed(t, "gitlab/moult-preview.gitlab-ci.yml", &template)
	job := template["moult-preview"]
	g.Expect(job.Variables).To(HaveKeyWithValue("GIT_DEPTH", "0"))
	g.Expect(job.Script).To(HaveLen(3))
	for _, line := range job.Script[:2] {
		name := regexp.MustCompile(`/([a-z-]+\.sh)`).FindStringSubmatch(line)
		g.Expect("scripts/" + name[1]).To(BeAnExistingFile())
	}
	setup := template[job.Extends]
	install := setup.BeforeScript[len(setup.BeforeScript)-1]
	for _, variable := range regexp.MustCompile(`\b([A-Z_]+)=`).FindAllStringSubmatch(install, -1) {
		g.Expect(settings(t, "install.sh")).To(ContainElement(variable[1]), "the script reads what the template sets")
	}
	g.Expect(install).To(And(ContainSubstring(`CACHE="$CI_PROJECT_DIR/`+setup.Cache.Paths[0]+"/"), ContainSubstring("PUBLIC_KEY=$MOULT_PUBLIC_KEY ")))
	g.Expect(setup.Variables).To(And(HaveKey("MOULT_VERSION"), HaveKey("MOULT_RELEASES"), HaveKey("MOULT_PUBLIC_KEY")))
	g.Expect(job.Script[2]).To(Equal(`exit "$(cat "$OUT/exit-code")"`), "the verdict decides, last of all")
	g.Expect(job.Artifacts.Reports["codequality"]).To(Equal(job.Variables["OUT"] + "/codequality.json"))
}

// What Argo CD would make of the ApplicationSet for pull request 7.
func TestTheApplicationSetRunsThePreviewOfItsPullRequest(t *testing.T) {
	g := NewWithT(t)
	var set struct {
		Spec struct {
			Template struct {
				Spec struct {
					Source struct {
						Kustomize struct {
							NameSuffix string        `json:"nameSuffix"`
							Patches    []types.Patch `json:"patches"`
						} `json:"kustomize"`
					} `json:"source"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	text := strings.NewReplacer("{{ .number }}", "7", "{{ .head_sha }}", "abc", "{{ .target_branch }}", "main").Replace(read(t, "argocd/applicationset.yaml"))
	g.Expect(text).NotTo(ContainSubstring("{{"))
	g.Expect(yaml.Unmarshal([]byte(text), &set)).To(Succeed())
	made := set.Spec.Template.Spec.Source.Kustomize
	rendering, err := render.Folder("argocd/preview", render.Options{Patches: made.Patches, NameSuffix: made.NameSuffix})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(builders.YAML(rendering.Objects)).To(And(
		ContainSubstring("- name: PULL_REQUEST\n          value: \"7\""), ContainSubstring("- name: HEAD_SHA\n          value: abc"),
		ContainSubstring("- name: TARGET_BRANCH\n          value: main"), ContainSubstring("serviceAccountName: moult-preview-7"),
		ContainSubstring("- kind: ServiceAccount\n  name: moult-preview-7\n  namespace: moult-preview"),
	))
	for _, script := range regexp.MustCompile(`\$SCRIPTS/([a-z-]+\.sh)`).FindAllStringSubmatch(read(t, "argocd/preview/run.sh"), -1) {
		g.Expect("scripts/" + script[1]).To(BeAnExistingFile())
	}
}

func TestTheScriptsCanBeStarted(t *testing.T) {
	scripts, err := filepath.Glob("scripts/*.sh")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, script := range scripts {
		g := NewWithT(t)
		info, err := os.Stat(script)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()&0o111).NotTo(BeZero(), script)
		g.Expect(read(t, script)).To(HavePrefix("#!/bin/sh\n"))
	}
}
