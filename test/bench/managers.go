package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/builders"
)

// managed is how fast objects are migrated that have many field managers.
type managed struct {
	Managers int
	// Alone is in objects per second, and Asked the same when a VersionRemoval asks for the old version to go, so that
	// the entries of managedFields are moved in the same walk.
	Alone, Asked float64
}

func runManagers(ctx context.Context, o *options) error {
	s, report, err := open(ctx, o, []*contender{&moult})
	if err != nil {
		return err
	}
	defer s.close()
	c, err := s.gateClient(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s; %s\n%d objects, at the rate of their first walk\nmanagers   alone   with a VersionRemoval\n", report.Machine, report.Server, o.Objects)
	var all []managed
	for _, n := range o.Managers {
		r := managed{Managers: n}
		if r.Alone, err = s.managedRate(ctx, o, n, nil); err == nil {
			r.Asked, err = s.managedRate(ctx, o, n, c)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%8d %5.1f/s   %5.1f/s (%.1f×)\n", n, r.Alone, r.Asked, r.Asked/r.Alone)
		all = append(all, r)
	}
	return writeJSON(o.json, all)
}

// managedRate is in objects per second. With a client, a VersionRemoval asks before the walk begins.
func (s *stage) managedRate(ctx context.Context, o *options, managers int, gates client.Client) (float64, error) {
	group := fmt.Sprintf("m%d.alone.bench.example.com", managers)
	if gates != nil {
		group = fmt.Sprintf("m%d.asked.bench.example.com", managers)
	}
	set, err := s.newSet(ctx, group, o.Objects)
	if err != nil {
		return 0, err
	}
	if err := s.manage(ctx, set, managers); err != nil {
		return 0, err
	}
	e, done, err := s.enterWith(ctx, o, set)
	if err != nil {
		return 0, err
	}
	defer done()
	if gates != nil {
		if err := gates.Create(ctx, e.gate(platform, fmt.Sprintf("managers-%d", managers))); err != nil {
			return 0, err
		}
	}
	if e.process, err = startMoult()(ctx, e); err != nil {
		return 0, err
	}
	if err := builders.Update(ctx, s.cp.Config, set.crdName(), optIn); err != nil {
		return 0, err
	}
	saw, err := e.witness.until(ctx, patience(o.Objects*managers), "all objects at the new version", func(s sighting) bool { return !s.Done.IsZero() })
	if err != nil {
		return 0, e.process.failed(err)
	}
	return float64(o.Objects) / max(time.Millisecond.Seconds(), saw.Done.Sub(saw.First).Seconds()), nil
}

// manage gives every object so many managers that have applied a label each at the version that it is stored at.
func (s *stage) manage(ctx context.Context, set *objectSet, managers int) error {
	entries, labels := make([]metav1.ManagedFieldsEntry, managers), map[string]string{}
	for i := range entries {
		label := fmt.Sprintf("of-%03d", i)
		labels[label] = "x"
		entries[i] = metav1.ManagedFieldsEntry{Manager: fmt.Sprintf("manager-%03d", i), Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: set.gr.Group + "/" + set.stored, FieldsType: "FieldsV1", Time: &metav1.Time{Time: time.Unix(1700000000, 0)},
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + label + `":{}}}}`)}
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/labels", "value": labels},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
	})
	if err != nil {
		return err
	}
	objects := dynamic.NewForConfigOrDie(s.cp.Config).Resource(set.gr.WithVersion(set.stored)).Namespace(namespace)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range list.Items {
		if _, err := objects.Patch(ctx, object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "bench"}); err != nil {
			return err
		}
	}
	return nil
}
