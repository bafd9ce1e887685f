package plane

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	// metric is the API server's number of requests by FlowSchema.
	metric = "apiserver_flowcontrol_dispatched_requests_total"
	// allocated is the number of bytes that the API server has allocated since its start.
	allocated = "go_memstats_alloc_bytes_total"
)

// Request is a kind of request. Verb is a verb of Kubernetes ("create"), and Resource a plural, with any subresource
// ("apps/status").
type Request struct{ Verb, Resource string }

func (r Request) String() string { return r.Verb + " " + r.Resource }

// IsWrite reports whether a request of this kind writes.
func (r Request) IsWrite() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

func (r Request) isWatch() bool { return r.Verb == "watch" }

// Counts are numbers of requests.
type Counts map[Request]int

// Metrics are metrics of the API server.
type Metrics struct {
	// Counts are the engine's requests since the start of the control plane.
	Counts Counts
	// Allocated is the memory that the API server has allocated since its start, in bytes. Unlike time, it is nearly
	// the same for the same requests on any machine.
	Allocated float64
}

// Metrics reads the API server's metrics.
func (p *Plane) Metrics(ctx context.Context) (Metrics, error) {
	text, err := p.core.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return Metrics{}, fmt.Errorf("get metrics: %w", err)
	}
	return parseMetrics(text)
}

// parseMetrics parses the two metrics that are needed. It filters their lines first, because all metrics together have
// some megabytes.
func parseMetrics(text []byte) (Metrics, error) {
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(metric+"{")) || bytes.HasPrefix(line, []byte(allocated+" ")) {
			lines.Write(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&lines)
	if err != nil {
		return Metrics{}, fmt.Errorf("read metrics: %w", err)
	}
	read := Metrics{Counts: countsOf(families[metric])}
	for _, one := range families[allocated].GetMetric() {
		read.Allocated = one.GetUntyped().GetValue()
	}
	return read, nil
}

// countsOf counts the engine's requests.
func countsOf(family *dto.MetricFamily) Counts {
	counts := make(Counts)
	for _, one := range family.GetMetric() {
		for _, label := range one.GetLabel() {
			if label.GetName() != "flow_schema" {
				continue
			}
			if request, ours := countOf(label.GetValue()); ours {
				// The parser reports the metric as untyped, because the line with its type was filtered out.
				counts[request] += int(one.GetUntyped().GetValue())
			}
		}
	}
	return counts
}

// Sub is the difference to an earlier count. Kinds without requests are left out.
func (c Counts) Sub(before Counts) Counts {
	difference := make(Counts)
	for request, n := range c {
		if n -= before[request]; n != 0 {
			difference[request] = n
		}
	}
	return difference
}

// Writes is the number of writes.
func (c Counts) Writes() int { return c.sum(Request.IsWrite) }

// Reads is the number of gets and lists.
func (c Counts) Reads() int {
	return c.sum(func(r Request) bool { return !r.IsWrite() && !r.isWatch() })
}

// Watches is the number of watches that started. At a start, a watch reads all objects. Later it costs nothing: the API
// server ends each watch after a time, and the next one continues from there.
func (c Counts) Watches() int { return c.sum(Request.isWatch) }

func (c Counts) sum(counted func(Request) bool) int {
	sum := 0
	for request, n := range c {
		if counted(request) {
			sum += n
		}
	}
	return sum
}

// Sorted lists the kinds of requests, by verb and resource.
func (c Counts) Sorted() []Request {
	return slices.SortedFunc(maps.Keys(c), func(a, b Request) int { return strings.Compare(a.String(), b.String()) })
}
