package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// reading is everything that is counted, at one moment. What happened is the difference of two.
type reading struct {
	at time.Time
	// serverCPU is seconds of the API server's, by its own metric, and serverRSS its resident memory in bytes.
	serverCPU, serverRSS float64
	// requests that the API server has answered, by API group; "" are the core group and what is no resource.
	requests map[string]float64
	// up and down are the bytes through the proxy.
	up, down int64
	own      usage
}

// scrape reads the API server's metrics.
func (s *stage) scrape(ctx context.Context) (reading, error) {
	config := rest.CopyConfig(s.cp.Config)
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return reading{}, err
	}
	body, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return reading{}, fmt.Errorf("the API server's metrics: %w", err)
	}
	return parseMetrics(body), nil
}

// parseMetrics picks out of the text format what a reading holds.
func parseMetrics(body []byte) reading {
	r := reading{at: time.Now(), requests: map[string]float64{}}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "process_cpu_seconds_total "):
			r.serverCPU = metricValue(line)
		case strings.HasPrefix(line, "process_resident_memory_bytes "):
			r.serverRSS = metricValue(line)
		case strings.HasPrefix(line, "apiserver_request_total{"):
			_, rest, _ := strings.Cut(line, `,group="`)
			group, _, _ := strings.Cut(rest, `"`)
			r.requests[group] += metricValue(line)
		}
	}
	return r
}

// metricValue is the last word of a line.
func metricValue(line string) float64 {
	value, _ := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
	return value
}
