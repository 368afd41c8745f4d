package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/test/builders"
)

// remembered is Moult's memory: in passes over many objects, and with many CRDs that have nothing to migrate.
type remembered struct {
	Passes []*passMemory `json:",omitempty"`
	CRDs   *crdMemory    `json:",omitempty"`
}

// passMemory is that of one pass with its proof; memory is in MiB.
type passMemory struct {
	Objects                  int
	Before, Peak             float64
	Seconds, PerObjectMillis float64
	Writes                   int
}

// crdMemory is that of a controller that looks after many clean CRDs; memory is in MiB.
type crdMemory struct {
	CRDs, Bytes int
	ServerRSS   float64
	// Proving is the peak while all are proved for the first time, which takes Seconds and so many writes per CRD.
	Proving, Seconds, ProvingWrites float64
	// Started is the peak of a controller that is started when all are proved, and Idle what it has a while later.
	Started, Idle float64
	// IdleCPU is the share of one core, in percent, and Writes all writes seen in etcd meanwhile, by what was written.
	IdleCPU float64
	Writes  map[string]int
}

func runMemory(ctx context.Context, o *options) error {
	r := &remembered{}
	for _, objects := range o.At {
		if objects == 0 {
			continue
		}
		pass, err := passWith(ctx, o, objects)
		if err != nil {
			return err
		}
		fmt.Printf("%6d objects: %.1f MiB before, %.1f MiB at most, %.0f s until the trim\n", objects, pass.Before, pass.Peak, pass.Seconds)
		r.Passes = append(r.Passes, pass)
	}
	if o.CRDs > 0 {
		c, err := cleanCRDs(ctx, o)
		if err != nil {
			return err
		}
		fmt.Printf("%d CRDs of %d KiB: %.1f MiB at most while proving them for %.0f s with %.1f writes each; started anew %.1f MiB at most, idle %.1f MiB and %.2f %% of a core; writes in %s: %v; the API server has %.0f MiB\n",
			c.CRDs, c.Bytes>>10, c.Proving, c.Seconds, c.ProvingWrites, c.Started, c.Idle, c.IdleCPU, o.Idle, c.Writes, c.ServerRSS)
		r.CRDs = c
	}
	return writeJSON(o.json, r)
}

// passWith migrates this many objects on a control plane of their own.
func passWith(ctx context.Context, o *options, objects int) (*passMemory, error) {
	s, _, err := open(ctx, o, []*contender{&moult})
	if err != nil {
		return nil, err
	}
	defer s.close()
	e, done, err := s.enter(ctx, o, objects)
	if err != nil {
		return nil, err
	}
	defer done()
	if e.process, err = startMoult()(ctx, e); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Second)
	p := &passMemory{Objects: objects, Before: mebibytes(e.process.usage().PeakRSS)}
	began, cpu := time.Now(), e.process.usage().CPU
	if err := builders.Update(ctx, s.cp.Config, e.set.crdName(), optIn); err != nil {
		return nil, err
	}
	alive, stop := e.process.during(ctx)
	defer stop()
	saw, err := e.witness.until(alive, patience(objects), "the trim", func(s sighting) bool { return !s.Trimmed.IsZero() })
	if err != nil {
		return nil, e.process.failed(err)
	}
	time.Sleep(time.Second)
	used := e.process.usage()
	p.Peak, p.Seconds, p.Writes = mebibytes(used.PeakRSS), saw.Trimmed.Sub(began).Seconds(), saw.Writes
	p.PerObjectMillis = milliseconds(used.CPU-cpu) / float64(objects)
	return p, nil
}

func cleanCRDs(ctx context.Context, o *options) (*crdMemory, error) {
	s, err := openWithin(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := &crdMemory{CRDs: o.CRDs, Bytes: o.CRDSize}
	if err := s.createCRDs(ctx, o); err != nil {
		return nil, err
	}
	proxy, kubeconfig, err := s.proxy(0)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	e := &entry{stage: s, options: o, kubeconfig: kubeconfig}
	if err := c.prove(ctx, e); err != nil {
		return nil, err
	}
	return c, c.idle(ctx, e)
}

// openWithin has the API server collect its garbage in time. What it inherits, moult-controller must not.
func openWithin(ctx context.Context, o *options) (*stage, error) {
	const limit = "GOMEMLIMIT"
	given, was := os.LookupEnv(limit)
	if err := os.Setenv(limit, strconv.FormatInt(o.ServerLimit*3/4, 10)); err != nil {
		return nil, err
	}
	s, _, err := open(ctx, o, []*contender{&moult})
	if was {
		return s, errors.Join(err, os.Setenv(limit, given))
	}
	return s, errors.Join(err, os.Unsetenv(limit))
}

const crdsKey = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

// createCRDs makes them, and tells at times what the API server makes of it: it needs far more than Moult does.
func (s *stage) createCRDs(ctx context.Context, o *options) error {
	for made := 0; made < o.CRDs; {
		var group errgroup.Group
		group.SetLimit(4)
		for range min(50, o.CRDs-made) {
			crd := largeCRD(made, o.CRDSize)
			made++
			group.Go(func() error {
				_, err := s.crds.Create(ctx, crd, metav1.CreateOptions{})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		time.Sleep(time.Second)
		if err := s.within(ctx, o.ServerLimit, "%d CRDs are created", made); err != nil {
			return err
		}
	}
	return nil
}

// within tells how much memory the API server has, and is an error when that is too much for this machine.
func (s *stage) within(ctx context.Context, limit int64, format string, args ...any) error {
	r, err := s.scrape(ctx)
	if err != nil {
		return err
	}
	s.say(format+": the API server has %.0f MiB", append(args, r.serverRSS/(1<<20))...)
	if r.serverRSS > float64(limit) {
		return errors.New("that is too much: try with fewer CRDs, --crds, or allow it more, --server-limit")
	}
	return nil
}

// largeCRD is a clean CRD of this many bytes, most of them names, types and descriptions as in real ones.
func largeCRD(i, size int) *apiextensionsv1.CustomResourceDefinition {
	crd := builders.CRD(fmt.Sprintf("g%04d.crds.example.com", i), "widgets").Versions(oldest, newest).OptedIn().WithStatus().Build()
	const each = 190 // bytes of one field, as JSON
	fields := size / len(crd.Spec.Versions) / each
	for v := range crd.Spec.Versions {
		spec := crd.Spec.Versions[v].Schema.OpenAPIV3Schema.Properties["spec"]
		for f := range fields {
			spec.Properties[fmt.Sprintf("someField%04d", f)] = apiextensionsv1.JSONSchemaProps{
				Type:        "string",
				Description: strings.Repeat("What this field is for and what it does. ", 3),
			}
		}
	}
	return crd
}

// prove starts the controller and waits until it has proved every CRD.
func (c *crdMemory) prove(ctx context.Context, e *entry) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := e.etcd.Watch(ctx, crdsKey, clientv3.WithPrefix())
	began := time.Now()
	if e.process, err = startMoult()(ctx, e); err != nil {
		return err
	}
	defer e.process.stop()
	alive, stop := e.process.during(ctx)
	defer stop()
	timeout := time.After(time.Duration(c.CRDs)*5*time.Second + 2*time.Minute)
	look := time.NewTicker(10 * time.Second)
	defer look.Stop()
	writes := 0
	for proved := map[string]bool{}; len(proved) < c.CRDs; {
		select {
		case answer, ok := <-watch:
			if !ok || answer.Err() != nil {
				return fmt.Errorf("the watch of etcd broke off: %w", answer.Err())
			}
			writes += len(answer.Events)
			for _, event := range answer.Events {
				if bytes.Contains(event.Kv.Value, []byte(`"reason":"Migrated"`)) {
					proved[string(event.Kv.Key)] = true
				}
			}
		case <-look.C:
			if err := e.within(ctx, e.options.ServerLimit, "%d CRDs are proved", len(proved)); err != nil {
				return err
			}
		case <-timeout:
			return e.process.failed(fmt.Errorf("only %d of %d CRDs are proved", len(proved), c.CRDs))
		case <-alive.Done():
			return context.Cause(alive)
		}
	}
	c.ProvingWrites = float64(writes) / float64(c.CRDs)
	c.Seconds, c.Proving = time.Since(began).Seconds(), mebibytes(e.process.usage().PeakRSS)
	return nil
}

// idle starts another controller, which has nothing to do.
func (c *crdMemory) idle(ctx context.Context, e *entry) (err error) {
	if e.process, err = startMoult()(ctx, e); err != nil {
		return err
	}
	defer e.process.stop()
	count := e.countWrites(ctx)
	time.Sleep(30 * time.Second)
	before, began := e.process.usage(), time.Now()
	select {
	case <-time.After(e.options.Idle):
	case <-e.process.ended:
		return e.process.failed(fmt.Errorf("it has ended"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	after := e.process.usage()
	c.IdleCPU = 100 * (after.CPU - before.CPU).Seconds() / time.Since(began).Seconds()
	c.Started, c.Idle, c.Writes = mebibytes(after.PeakRSS), mebibytes(after.RSS), count()
	r, err := e.scrape(ctx)
	c.ServerRSS = r.serverRSS / (1 << 20)
	return err
}

// countWrites counts what is written in etcd, by the first two parts of the keys, until the counts are asked for. What
// the API server writes for itself does not count.
func (s *stage) countWrites(ctx context.Context) func() map[string]int {
	ctx, cancel := context.WithCancel(ctx)
	counts := map[string]int{}
	var counting sync.WaitGroup
	watch := s.etcd.Watch(ctx, "/registry/", clientv3.WithPrefix())
	counting.Go(func() {
		for answer := range watch {
			for _, event := range answer.Events {
				parts := strings.SplitN(strings.TrimPrefix(string(event.Kv.Key), "/registry/"), "/", 3)
				if kind := strings.Join(parts[:min(2, len(parts))], "/"); !serversOwn(kind) {
					counts[kind]++
				}
			}
		}
	})
	return func() map[string]int {
		cancel()
		counting.Wait()
		return counts
	}
}

// serversOwn are the leases and the address that an API server keeps up by itself.
func serversOwn(kind string) bool {
	return strings.HasPrefix(kind, "leases/") || strings.HasPrefix(kind, "peerserverleases/") || strings.HasPrefix(kind, "masterleases/") || strings.HasPrefix(kind, "services/") ||
		strings.HasPrefix(kind, "endpointslices/") || strings.HasPrefix(kind, "apiregistration.k8s.io/")
}
