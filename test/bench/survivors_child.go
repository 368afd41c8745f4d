package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/clusters/inspect"
	policy "github.com/moult-dev/moult/policies/survivors"
)

// sought is what a look answers.
type sought struct {
	Seconds float64
	// Requests are all, AtOnce the most that were under way at a time, and Lists the most that were begun of a resource.
	Requests, AtOnce, Lists int
	Found                   map[string]int64 // fields, by place
}

// mostNamed is how many findings of a group the controller keeps.
const mostNamed = 100

func runSurvey(ctx context.Context, t task, await func() error) error {
	return moultLooks(ctx, t, await, inspect.SurvivorSearch{Places: policy.Embedded(), Most: mostNamed})
}

func runEverything(ctx context.Context, t task, await func() error) error {
	return moultLooks(ctx, t, await, inspect.SurvivorSearch{Places: policy.Embedded(), Most: mostNamed, Everything: true})
}

func moultLooks(ctx context.Context, t task, await func() error, search inspect.SurvivorSearch) error {
	return looks(ctx, t, await, func(cluster *inspect.Cluster, targets []policy.Target) (policy.Report, error) {
		search.Targets = targets
		return cluster.Survivors(ctx, search)
	})
}

// runAtOnce is what a script does: every resource, whole and in one answer.
func runAtOnce(ctx context.Context, t task, await func() error) error {
	return looks(ctx, t, await, func(_ *inspect.Cluster, targets []policy.Target) (policy.Report, error) {
		walker := policy.NewWalker(policy.Embedded(), targets)
		survey := policy.NewSurvey(walker, mostNamed)
		err := listsWhole(ctx, t.config, walker, survey)
		return survey.Report(), err
	})
}

// looks counts the requests of a look, and answers what it has found.
func looks(ctx context.Context, t task, await func() error, look func(*inspect.Cluster, []policy.Target) (policy.Report, error)) error {
	counting := &requestCount{begun: map[string]int{}}
	t.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counting.next = next
		return counting
	})
	cluster, err := inspect.Connect(t.config)
	if err != nil {
		return err
	}
	targets, _, err := cluster.LeavingVersions(ctx, strings.Split(t.args[0], ","), "", []string{oldest})
	if err != nil {
		return err
	}
	if err := await(); err != nil {
		return err
	}
	counting.reset()
	began := time.Now()
	report, err := look(cluster, targets)
	if err != nil {
		return err
	}
	if len(report.NotLooked) > 0 {
		return fmt.Errorf("not all was looked at: %v", report.NotLooked)
	}
	answer := sought{Seconds: time.Since(began).Seconds(), Found: map[string]int64{}}
	answer.Requests, answer.AtOnce, answer.Lists = counting.counts()
	for _, group := range report.Found {
		answer.Found[group.Place] += group.Count
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// listsWhole adds all objects to a survey.
func listsWhole(ctx context.Context, config *rest.Config, walker *policy.Walker, survey *policy.Survey) error {
	resources, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, group := range resources {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return err
		}
		for _, found := range group.APIResources {
			if !slices.Contains(found.Verbs, "list") || found.Name == "componentstatuses" {
				continue
			}
			at := gv.WithResource(found.Name)
			r := policy.Resource{GroupResource: at.GroupResource(), Categories: found.Categories}
			all, err := client.Resource(at).List(ctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list %s: %w", r, err)
			}
			batch := survey.NewBatch()
			for i := range all.Items {
				survey.Add(batch, walker.Walk(r, all.Items[i].Object, policy.Whole))
			}
			survey.Covered(r, int64(len(all.Items)), batch)
		}
	}
	return nil
}

// requestCount counts what is sent through it.
type requestCount struct {
	next http.RoundTripper

	mu                         sync.Mutex
	requests, underWay, atOnce int
	begun                      map[string]int // lists, by path
}

func (c *requestCount) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.atOnce, c.begun = 0, c.underWay, map[string]int{}
}

func (c *requestCount) counts() (requests, atOnce, lists int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.begun {
		lists = max(lists, n)
	}
	return c.requests, c.atOnce, lists
}

// RoundTrip implements http.RoundTripper.
func (c *requestCount) RoundTrip(request *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.requests++
	c.underWay++
	c.atOnce = max(c.atOnce, c.underWay)
	if query := request.URL.Query(); query.Get("continue") == "" {
		c.begun[request.URL.Path]++
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.underWay--
	}()
	return c.next.RoundTrip(request)
}
