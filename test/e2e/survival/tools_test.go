package survival_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moult-dev/moult/test/e2e/argocd"
	"github.com/moult-dev/moult/test/e2e/flux"
)

// mode is one of a tool's ways to apply. What the tool does not know is empty.
type mode struct {
	name string
	// annotations of the CRD in Git.
	annotations map[string]string
	// options are Argo CD's sync options, and kustomize is the Application's spec.source.kustomize.
	options   []string
	kustomize string
	// spec of Flux' Kustomization, beside its path.
	spec string
	// madeByHand: somebody makes the CRD before the tool comes, which would not.
	madeByHand bool
	// apply is what is given to kubectl when the CRD is there, and create when it is not.
	apply, create []string
}

// name of the Application, the Kustomization and its source: those of one scene have the same.
func (s *scene) name() string { return strings.TrimSuffix(s.git.group, ".example.com") }

// byArgoCD delivers with an Application of a repository of its own.
type byArgoCD struct{ *argocd.ArgoCD }

func startArgoCD(t *testing.T, at *site) tool {
	t.Helper()
	argo, err := argocd.Start(t.Context(), at.Config, argocd.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(argo.LogTail(20))
		}
		argo.Stop()
	})
	return byArgoCD{argo}
}

type application struct {
	*scene
	argo   *argocd.ArgoCD
	repo   *argocd.Repo
	commit string
}

func (b byArgoCD) begin(s *scene, _ mode) delivery {
	s.t.Helper()
	s.t.Cleanup(func() {
		s.g.Expect(b.DeleteApplication(context.WithoutCancel(s.t.Context()), s.name())).To(Succeed())
	})
	return &application{scene: s, argo: b.ArgoCD, repo: argocd.NewRepo(s.t)}
}

func (a *application) push(files map[string]string) {
	first := a.commit == ""
	a.commit = a.repo.Commit(files, "change")
	if first {
		var options []argocd.ApplicationOption
		if a.mode.kustomize != "" {
			options = append(options, argocd.Kustomized(a.mode.kustomize))
		}
		a.g.Expect(a.argo.CreateApplication(a.t.Context(), a.name(), a.repo, folder, options...)).To(Succeed())
	}
}

// sync waits, before and after, until Argo CD sees things as they are: its picture of the cluster lags, and it decides by
// that whether a CRD is there, and whose fields it takes over.
func (a *application) sync() {
	a.t.Helper()
	a.sees("the commit", func(status argocd.Status) bool { return status.Revision == a.commit })
	a.g.Expect(a.argo.Sync(a.t.Context(), a.name(), a.mode.options...)).To(Succeed())
	a.Await("synced", patience, a.argo.OperationWhere(a.name(), func(o argocd.Operation) bool {
		if o.Phase == argocd.Failed && strings.Contains(o.String(), "the object has been modified") {
			a.again()
		}
		return o.Phase == argocd.Succeeded && o.Revision == a.commit
	}))
	a.sees("what it has done", func(status argocd.Status) bool { return status.Revision == a.commit && status.Sync == "Synced" })
}

// again syncs once more: a replace of a CRD names the resourceVersion that Argo CD has seen last, which may be an old one.
func (a *application) again() {
	a.t.Helper()
	a.g.Expect(a.argo.Refresh(a.t.Context(), a.name())).To(Succeed())
	a.g.Expect(a.argo.Sync(a.t.Context(), a.name(), a.mode.options...)).To(Succeed())
}

func (a *application) sees(what string, wanted func(argocd.Status) bool) {
	a.t.Helper()
	a.Await("Argo CD sees "+what, patience, func(ctx context.Context) (string, bool, error) {
		if err := a.argo.Refresh(ctx, a.name()); err != nil {
			return "", false, err
		}
		status, err := a.argo.Status(ctx, a.name())
		return status.String(), wanted(status), err
	})
}

// comesBy is self-heal, which changes nothing unless Argo CD sees a difference.
func (a *application) comesBy() {
	a.t.Helper()
	a.g.Expect(a.argo.Automate(a.t.Context(), a.name(), 5, a.mode.options...)).To(Succeed())
	a.Await("healed", patience, a.backAgain())
}

// byFlux delivers with a Kustomization of a source of its own.
type byFlux struct{ *flux.Flux }

func startFlux(t *testing.T, at *site) tool {
	t.Helper()
	f, err := flux.Start(t.Context(), at.Config, flux.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.LogTail(20))
		}
		f.Stop()
	})
	return byFlux{f}
}

type kustomization struct {
	*scene
	flux     *flux.Flux
	source   *flux.Source
	revision string
}

func (b byFlux) begin(s *scene, _ mode) delivery {
	s.t.Helper()
	source, err := b.NewSource(s.t.Context(), s.name())
	s.g.Expect(err).NotTo(HaveOccurred())
	ctx := context.WithoutCancel(s.t.Context())
	s.t.Cleanup(func() { s.g.Expect(source.Delete(ctx)).To(Succeed()) })
	return &kustomization{scene: s, flux: b.Flux, source: source}
}

func (k *kustomization) push(files map[string]string) {
	first := k.revision == ""
	var err error
	k.revision, err = k.source.Push(k.t.Context(), files)
	k.g.Expect(err).NotTo(HaveOccurred())
	if first {
		k.g.Expect(k.flux.CreateKustomization(k.t.Context(), k.name(), k.source, "path: ./"+folder+"\n"+k.mode.spec)).To(Succeed())
		k.t.Cleanup(k.end)
	}
}

func (k *kustomization) end() {
	ctx := context.WithoutCancel(k.t.Context())
	k.g.Expect(k.flux.OrphanKustomization(ctx, k.name())).To(Succeed())
	k.g.Eventually(ctx, func() error {
		_, err := k.flux.Kustomization(ctx, k.name())
		return err
	}).WithTimeout(patience).Should(Satisfy(apierrors.IsNotFound))
}

func (k *kustomization) sync() {
	k.t.Helper()
	k.Await("applied", patience, k.flux.ReadyAt(k.name(), k.revision))
	reconciled, err := k.flux.Reconciled(k.t.Context(), k.name())
	k.g.Expect(err).NotTo(HaveOccurred())
	k.Await("reconciled", patience, reconciled)
	k.Await("ready", patience, k.flux.ReadyAt(k.name(), k.revision))
}

func (k *kustomization) comesBy() { k.sync() }

// byKubectl delivers with kubectl, as a script in a pipeline does.
type byKubectl struct{ *site }

func startKubectl(_ *testing.T, at *site) tool { return byKubectl{at} }

type script struct {
	*scene
	at      *site
	dir     string
	applied bool
}

func (b byKubectl) begin(s *scene, _ mode) delivery {
	s.t.Helper()
	return &script{scene: s, at: b.site, dir: s.t.TempDir()}
}

func (k *script) push(files map[string]string) {
	for name, content := range maps.All(files) {
		path := filepath.Join(k.dir, name)
		k.g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		k.g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
}

func (k *script) sync() {
	k.t.Helper()
	command := k.mode.apply
	if !k.applied && k.mode.create != nil {
		command = k.mode.create
	}
	said, err := k.at.kubectl.Run(k.t.Context(), append(command[:len(command):len(command)], "-k", filepath.Join(k.dir, folder))...)
	k.g.Expect(err).NotTo(HaveOccurred())
	k.Say("%s: %s", strings.Join(command, " "), strings.TrimSpace(said))
	k.applied = true
}

func (k *script) comesBy() { k.sync() }
