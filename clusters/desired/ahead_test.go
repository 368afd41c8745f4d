package desired_test

import (
	"context"
	"fmt"
	"sync"
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
		c, err := desired.Follow(t.Context(), opened(t, f), "entry", desired.WithCharts(registry))
		if err == nil {
			ended <- unseen(c)
		}
	}()
	g.Eventually(ended, 10*time.Second).Should(Receive(HaveLen(4)))
}
