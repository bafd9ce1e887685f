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
	// metric is the API server's count of requests by FlowSchema.
	metric = "apiserver_flowcontrol_dispatched_requests_total"
	// allocated is how many bytes it has allocated since it started.
	allocated = "go_memstats_alloc_bytes_total"
)

// Request is a kind of request. Verb is that of Kubernetes ("create"), Resource
// its plural, with the subresource ("apps/status").
type Request struct{ Verb, Resource string }

func (r Request) String() string { return r.Verb + " " + r.Resource }

// IsWrite says whether a request of this kind changes something.
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

// Metrics are what the API server counts of itself.
type Metrics struct {
	// Counts are the requests that engines have sent since the control plane started.
	Counts Counts
	// Allocated is the memory that the API server has allocated since then, in bytes. For
	// the same requests it is nearly the same on any machine, which its time is not.
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

// parseMetrics reads what is needed out of all of the API server's metrics, which are
// some megabytes: only the lines of these two are parsed.
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

// countsOf are the counts of requests that engines sent.
func countsOf(family *dto.MetricFamily) Counts {
	counts := make(Counts)
	for _, one := range family.GetMetric() {
		for _, label := range one.GetLabel() {
			if label.GetName() != "flow_schema" {
				continue
			}
			if request, ours := countOf(label.GetValue()); ours {
				// Without the line of its type the parser takes it for untyped.
				counts[request] += int(one.GetUntyped().GetValue())
			}
		}
	}
	return counts
}

// Sub is what was counted after before was; kinds without a request are left out.
func (c Counts) Sub(before Counts) Counts {
	difference := make(Counts)
	for request, n := range c {
		if n -= before[request]; n != 0 {
			difference[request] = n
		}
	}
	return difference
}

// Writes are how many requests change something.
func (c Counts) Writes() int { return c.sum(Request.IsWrite) }

// Reads are how many get or list something.
func (c Counts) Reads() int {
	return c.sum(func(r Request) bool { return !r.IsWrite() && !r.isWatch() })
}

// Watches are how many began to watch something, which is a read of all that there is
// at a start, and nothing later: the API server ends each watch after a time, and the
// next one goes on where it was.
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

func (c Counts) String() string {
	parts := make([]string, 0, len(c))
	for request, n := range c {
		parts = append(parts, fmt.Sprintf("%s: %d", request, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Sorted are the kinds of requests, in order of verb and resource.
func (c Counts) Sorted() []Request {
	return slices.SortedFunc(maps.Keys(c), func(a, b Request) int { return strings.Compare(a.String(), b.String()) })
}
