package desired_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/desired"
)

// together is a registry that answers when several wait for it.
type together struct {
	all  sync.WaitGroup
	once sync.Map
}

func (r *together) Chart(_ context.Context, reference charts.Reference) (*charts.Chart, error) {
	if _, again := r.once.LoadOrStore(reference, true); !again {
		r.all.Done()
		r.all.Wait()
	}
	return nil, fmt.Errorf("no %s", reference.Name)
}

// One after the other, charts would take as long as their registries take, all together.
func TestChartsAreFetchedSideBySide(t *testing.T) {
	g := NewWithT(t)
	f := files{"entry/r.yaml": source("HelmRepository", "r", "url: https://charts.invalid")}
	registry := &together{}
	for i := range 4 {
		name := fmt.Sprint("c", i)
		f["entry/"+name+".yaml"] = object("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, "chart: {spec: {chart: "+name+", sourceRef: {kind: HelmRepository, name: r}}}")
		registry.all.Add(1)
	}
	ended := make(chan []string)
	go func() {
		c, err := desired.Follow(t.Context(), opened(t, f), "entry", desired.Options{Charts: registry})
		if err == nil {
			ended <- unseen(c)
		}
	}()
	g.Eventually(ended, 10*time.Second).Should(Receive(HaveLen(4)))
}

// counting is a registry that counts how often it is asked.
type counting struct{ asked atomic.Int32 }

func (r *counting) Chart(context.Context, charts.Reference) (*charts.Chart, error) {
	r.asked.Add(1)
	return nil, errors.New("no chart")
}

// With all that wait looked up for each of them, a hundred HelmReleases would take five thousand looks.
func TestChartsAreLookedUpAheadOnce(t *testing.T) {
	g := NewWithT(t)
	f := files{"entry/r.yaml": source("HelmRepository", "r", "url: https://charts.invalid")}
	for i := range 20 {
		name := fmt.Sprint("c", i)
		f["entry/"+name+".yaml"] = object("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, "chart: {spec: {chart: "+name+", sourceRef: {kind: HelmRepository, name: r}}}")
	}
	registry := &counting{}
	c, err := desired.Follow(t.Context(), opened(t, f), "entry", desired.Options{Charts: registry})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unseen(c)).To(HaveLen(20))
	g.Expect(registry.asked.Load()).To(BeNumerically("<=", 40), "ahead, and when it is needed")
}

// registry has charts by their names.
type registry map[string]*charts.Chart

func (r registry) Chart(_ context.Context, reference charts.Reference) (*charts.Chart, error) {
	if chart := r[reference.Name]; chart != nil {
		return chart, nil
	}
	return nil, fmt.Errorf("no %s", reference.Name)
}

func TestADependencyIsFetchedIfItIsNeeded(t *testing.T) {
	tree := opened(t, files{"d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n", "d/templates/x.yaml": crd("d")})
	held, err := charts.Folder(tree.Root+"/d", tree.Root)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		registry registry
		values   string
		want     string
	}{
		"it is there":               {registry{"d": held}, "", "d"},
		"it is switched off":        {registry{}, "d: {enabled: false}", ""},
		"it is not there":           {registry{}, "", "Application argocd/a: charts/c is a chart; its dependency d 1.0.0 is not in charts/ (no d)"},
		"another one comes instead": {registry{"e": held}, "", "Application argocd/a: charts/c is a chart; its dependency e 1.0.0 is not in charts/ (what its repository has is called d)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			wanted := "d"
			if c.registry["e"] != nil {
				wanted = "e"
			}
			f := files{
				"entry/a.yaml":        app("a", "source: {path: charts/c, helm: {valuesObject: {"+c.values+"}}}"),
				"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: " + wanted + ", version: 1.0.0, repository: 'https://x', condition: d.enabled}]\n",
			}
			cluster, err := desired.Follow(t.Context(), opened(t, f), "entry", desired.Options{Charts: c.registry})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(brought(cluster) + strings.Join(unseen(cluster), "")).To(Equal(c.want))
		})
	}
}
