package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/network"
)

// Options say where charts may come from. The zero value has only what is in Helm's cache.
type Options struct {
	// Folders hold charts: NAME-VERSION.tgz, or a folder with a Chart.yaml. They are looked into first, then Helm's own cache.
	Folders []string
	// Fetch: what is in no folder is fetched from its registry.
	Fetch bool
	// Network says which hosts may be asked.
	Network *network.Policy
}

// Store finds charts, each once. It may be used by several goroutines.
type Store struct {
	options Options
	client  *http.Client

	known  network.Once[charts.Reference, *charts.Chart]
	index  network.Once[string, index]
	silent network.Silent

	mu     sync.Mutex
	chosen map[string]string
}

// New makes a store.
func New(o Options) *Store {
	return &Store{options: o, client: o.Network.Client(), chosen: map[string]string{}}
}

// timeout is how long one chart may take to arrive.
const timeout = 30 * time.Second

// Chart finds a chart. The error says where it was looked for, and what to do if it is not allowed to be fetched.
func (s *Store) Chart(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	return s.known.Get(r, func() (*charts.Chart, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it takes longer than %s to arrive", timeout))
		defer cancel()
		return s.find(ctx, r)
	})
}

func (s *Store) find(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	chart, err := s.inFolders(r)
	if chart == nil && err == nil {
		chart = cached(r)
	}
	switch {
	case err != nil || chart != nil:
	case !s.options.Fetch && len(s.options.Folders) > 0:
		return nil, fmt.Errorf("the chart %s is not in %s", r, strings.Join(s.options.Folders, ", "))
	case !s.options.Fetch:
		return nil, charts.ErrOffline
	default:
		chart, err = s.fetch(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("the chart %s cannot be had: %w", r, err)
	}
	s.note(r, chart)
	return chart, nil
}

// fetch asks the registry of a chart.
func (s *Store) fetch(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	at, err := url.Parse(r.Repository)
	if err != nil || !slices.Contains([]string{"oci", "https", "http"}, at.Scheme) {
		return nil, errors.New("it has no address that can be asked")
	}
	if err := s.silent.Why(at.Host); err != nil {
		return nil, err
	}
	var chart *charts.Chart
	if at.Scheme == "oci" {
		chart, err = s.overOCI(ctx, r)
	} else {
		chart, err = s.overHTTP(ctx, r)
	}
	if errors.As(err, new(net.Error)) || ctx.Err() != nil {
		s.silent.Remember(at.Host, err)
	}
	return chart, err
}

// note remembers which version was chosen.
func (s *Store) note(r charts.Reference, chart *charts.Chart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Version != chart.Version() && r.Tag != chart.Version() {
		s.chosen[r.String()] = chart.Version()
	}
}

// Chosen says for each range of versions which version was taken, in order.
func (s *Store) Chosen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for asked, version := range s.chosen {
		all = append(all, fmt.Sprintf("%s is %s", asked, version))
	}
	slices.Sort(all)
	return all
}

// newest is the newest of some versions that fits what is asked for, empty if there is none. As with Helm, an empty wish is
// for the newest that is no pre-release, and what names a version exactly needs no other.
func newest(asked string, versions []string) (string, error) {
	if slices.Contains(versions, asked) {
		return asked, nil
	}
	if asked == "" {
		asked = "*"
	}
	constraint, err := semver.NewConstraint(asked)
	if err != nil {
		return "", fmt.Errorf("%q is no version and no range of versions", asked)
	}
	var best *semver.Version
	var name string
	for _, text := range versions {
		version, err := semver.NewVersion(text)
		if err == nil && constraint.Check(version) && (best == nil || version.GreaterThan(best)) {
			best, name = version, text
		}
	}
	return name, nil
}
