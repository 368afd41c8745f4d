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

	mu     sync.Mutex
	known  map[charts.Reference]*found
	chosen map[string]string
	index  map[string]*index
	// silent are hosts that could not be reached, each with why: no other chart waits for one of them.
	silent map[string]error
}

// found is a chart that somebody is looking for, or has found.
type found struct {
	once  sync.Once
	chart *charts.Chart
	err   error
}

// New makes a store.
func New(o Options) *Store {
	return &Store{options: o, client: o.Network.Client(), known: map[charts.Reference]*found{}, chosen: map[string]string{}, index: map[string]*index{}, silent: map[string]error{}}
}

// timeout is how long one chart may take to arrive.
const timeout = 30 * time.Second

// Chart finds a chart. The error says where it was looked for, and what to do if it is not allowed to be fetched.
func (s *Store) Chart(ctx context.Context, r charts.Reference) (*charts.Chart, error) {
	s.mu.Lock()
	one := s.known[r]
	if one == nil {
		one = &found{}
		s.known[r] = one
	}
	s.mu.Unlock()
	one.once.Do(func() {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it takes longer than %s to arrive", timeout))
		defer cancel()
		one.chart, one.err = s.find(ctx, r)
	})
	return one.chart, one.err
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
		return nil, charts.ErrNotAsked
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
	if err := s.isSilent(at.Host, nil); err != nil {
		return nil, err
	}
	var chart *charts.Chart
	if at.Scheme == "oci" {
		chart, err = s.overOCI(ctx, r)
	} else {
		chart, err = s.overHTTP(ctx, r)
	}
	var unreached net.Error
	if errors.As(err, &unreached) || ctx.Err() != nil {
		_ = s.isSilent(at.Host, err)
	}
	return chart, err
}

// isSilent reports why a host cannot be reached, nil if it can be or was not asked. It remembers an error.
func (s *Store) isSilent(host string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.silent[host] = err
	}
	return s.silent[host]
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
