package inspect

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/moult-dev/moult/policies/snapshot"
)

// The API server's metrics that tell who uses which version (k8s.io/apiserver pkg/endpoints/metrics). Those of requests
// count since it was started.
const (
	requestsTotal      = "apiserver_request_total"
	requestsDeprecated = "apiserver_requested_deprecated_apis"
	requestsOpen       = "apiserver_longrunning_requests"
	startTime          = "process_start_time_seconds"

	verbWatch = "WATCH"
)

// takeMetrics reads the metrics of the API server that answers. Where there are several, the others are not heard.
func (t *taker) takeMetrics(ctx context.Context) {
	const path = "/metrics"
	err := t.retry(ctx, func(ctx context.Context) error {
		stream, err := t.discovery.RESTClient().Get().AbsPath(path).Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		return t.readMetrics(stream)
	})
	if err != nil {
		t.miss(snapshot.APIServerMetrics, "", "the API server's metrics", rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: []string{"get"}}, err)
	}
}

// readMetrics reads metrics line by line, because there can be hundreds of megabytes of them.
func (t *taker) readMetrics(stream io.Reader) error {
	m := &snapshot.Metrics{}
	byResource := map[string]map[string]*snapshot.Requests{}
	for _, crd := range t.CRDs {
		byResource[crd.Name] = map[string]*snapshot.Requests{}
	}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		name, _, _ := strings.Cut(strings.SplitN(lines.Text(), " ", 2)[0], "{")
		if !slices.Contains([]string{requestsTotal, requestsDeprecated, requestsOpen, startTime}, name) {
			continue
		}
		labels, value, err := sample(lines.Text())
		if err != nil {
			return fmt.Errorf("a line of %s: %w", name, err)
		}
		if name == startTime {
			seconds, part := math.Modf(value)
			m.Since = new(time.Unix(int64(seconds), int64(part*float64(time.Second))).UTC().Truncate(time.Second))
			continue
		}
		if versions, ours := byResource[labels["resource"]+"."+labels["group"]]; ours {
			note(versions, name, labels, value)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	t.Metrics = m
	for i := range t.CRDs {
		t.CRDs[i].Requests = requests(byResource[t.CRDs[i].Name])
	}
	return nil
}

// maxLine is longer than any line of metrics.
const maxLine = 1 << 20

// sample parses one line of Prometheus' text format.
func sample(line string) (labels map[string]string, value float64, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(line + "\n"))
	if err != nil {
		return nil, 0, err
	}
	labels = map[string]string{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			value = metric.GetUntyped().GetValue() // its type is in a line that was not read
		}
	}
	return labels, value, nil
}

// note adds a sample to what is known of a version.
func note(versions map[string]*snapshot.Requests, name string, labels map[string]string, value float64) {
	if value <= 0 || name == requestsOpen && labels["verb"] != verbWatch {
		return
	}
	r, known := versions[labels["version"]]
	if !known {
		r = &snapshot.Requests{Version: labels["version"], Counts: map[string]int64{}}
		versions[r.Version] = r
	}
	switch name {
	case requestsTotal:
		r.Counts[labels["verb"]] += int64(value)
	case requestsDeprecated:
		r.Deprecated = true
	case requestsOpen:
		r.Watches += int64(value)
	}
}

func requests(versions map[string]*snapshot.Requests) (all []snapshot.Requests) {
	for _, r := range versions {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b snapshot.Requests) int { return strings.Compare(a.Version, b.Version) })
	return all
}
