package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// answered is how long one VersionRemoval waits for its answer beside many others of the same CRD, in seconds.
type answered struct {
	Gates, Objects int
	// Opened is from its creation, right behind all of a tenant's, and Reopened from an edit of the CRD, after which all
	// are answered anew. Requests are those for the CRD's objects meanwhile.
	Opened, Reopened                 float64
	OpenedRequests, ReopenedRequests float64
}

// platform and tenant are the namespaces of the one and of the many.
const platform, tenant = "gates-platform", "gates-tenant"

func runGates(ctx context.Context, o *options) error {
	s, report, err := open(ctx, o, []*contender{&moult})
	if err != nil {
		return err
	}
	defer s.close()
	e, done, err := s.enter(ctx, o, o.Objects)
	if err != nil {
		return err
	}
	defer done()
	c, err := s.gateClient(ctx)
	if err != nil {
		return err
	}
	if e.process, err = startMoult()(ctx, e); err != nil {
		return err
	}
	if err := builders.Update(ctx, s.cp.Config, e.set.crdName(), optIn); err != nil {
		return err
	}
	alive, stop := e.process.during(ctx)
	defer stop()
	if _, err := e.witness.until(alive, patience(o.Objects), "the trim", func(s sighting) bool { return !s.Trimmed.IsZero() }); err != nil {
		return e.process.failed(err)
	}
	r := &answered{Gates: o.Gates, Objects: o.Objects}
	if err := r.open(alive, e, c); err != nil {
		return e.process.failed(err)
	}
	if err := r.reopen(alive, e, c); err != nil {
		return e.process.failed(err)
	}
	fmt.Printf("%s; %s\none VersionRemoval beside %d of another namespace, and %d objects: open after %.1f s (%.0f requests for the objects), and %.1f s after an edit of the CRD (%.0f)\n",
		report.Machine, report.Server, r.Gates, r.Objects, r.Opened, r.OpenedRequests, r.Reopened, r.ReopenedRequests)
	return writeJSON(o.json, r)
}

// gateClient installs the CRD of VersionRemovals and the namespaces.
func (s *stage) gateClient(ctx context.Context) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	root, err := repository()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(root, "clusters/base/crds/moult.dev_versionremovals.yaml"))
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		return nil, err
	}
	if err := builders.Install(ctx, s.cp.Config, crd); err != nil {
		return nil, err
	}
	c, err := client.New(s.cp.Config, client.Options{Scheme: scheme})
	for _, name := range []string{platform, tenant} {
		if err == nil {
			err = c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	return c, err
}

// open has the tenant ask for all of its gates, and then the platform for its one.
func (r *answered) open(ctx context.Context, e *entry, c client.Client) error {
	before, err := e.scrape(ctx)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range r.Gates {
		group.Go(func() error { return c.Create(ctx, e.gate(tenant, fmt.Sprintf("gate-%05d", i))) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	began := time.Now()
	if err := c.Create(ctx, e.gate(platform, "gate")); err != nil {
		return err
	}
	if err := waitFor(ctx, e, c, 1); err != nil {
		return err
	}
	r.Opened = time.Since(began).Seconds()
	after, err := e.scrape(ctx)
	r.OpenedRequests = after.requests[e.set.gr.Group] - before.requests[e.set.gr.Group]
	return err
}

// reopen edits the CRD, so that every gate has to be answered for another generation.
func (r *answered) reopen(ctx context.Context, e *entry, c client.Client) error {
	before, err := e.scrape(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := builders.Update(ctx, e.cp.Config, e.set.crdName(), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Names.ShortNames = []string{"wd"}
	}); err != nil {
		return err
	}
	crd, err := e.crds.Get(ctx, e.set.crdName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := waitFor(ctx, e, c, crd.Generation); err != nil {
		return err
	}
	r.Reopened = time.Since(began).Seconds()
	after, err := e.scrape(ctx)
	r.ReopenedRequests = after.requests[e.set.gr.Group] - before.requests[e.set.gr.Group]
	return err
}

// gate asks for the version to go that the objects were stored at.
func (e *entry) gate(namespace, name string) *v1alpha1.VersionRemoval {
	return &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: e.set.crdName(), Versions: []string{e.set.stored}},
	}
}

// waitFor waits until the platform's gate is open for a generation of the CRD, or a later one.
func waitFor(ctx context.Context, e *entry, c client.Client, generation int64) error {
	deadline := time.Now().Add(time.Minute + time.Duration(e.options.Gates)*200*time.Millisecond)
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		gate := &v1alpha1.VersionRemoval{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: platform, Name: "gate"}, gate); err != nil {
			return err
		}
		if proof := gate.Status.Proof; proof != nil && proof.Generation >= generation {
			return nil
		}
	}
	return fmt.Errorf("the platform's gate is not open; see the VersionRemoval's status and the log")
}
