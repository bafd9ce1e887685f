package dashboard

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	// step is the time between two points of a line.
	step = time.Second
	// rateInterval replaces $__rate_interval, for which Grafana uses at least four scrape intervals.
	rateInterval = "5s"
	// lookback is how long a value remains valid after its scrape.
	lookback = 5 * time.Second
)

// line is a line of a panel, with a value for each step, or NaN if it is missing.
type line struct {
	title  string
	values []float64
}

// newEngine makes the query engine.
func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})
}

// lines evaluates the queries of a panel over the whole time in the store.
func (p *Panel) lines(ctx context.Context, engine *promql.Engine, store *Store) ([]line, error) {
	var lines []line
	for _, target := range p.Targets {
		query, err := engine.NewRangeQuery(ctx, store, nil, target.query(), store.first, store.last, step)
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", p.Title, err)
		}
		matrix, err := query.Exec(ctx).Matrix()
		if err != nil {
			query.Close()
			return nil, fmt.Errorf("panel %q: evaluate %s: %w", p.Title, target.query(), err)
		}
		for _, of := range matrix {
			l := line{title: target.title(of.Metric), values: make([]float64, store.steps())}
			for i := range l.values {
				l.values[i] = math.NaN()
			}
			for _, at := range of.Floats {
				l.values[(at.T-store.first.UnixMilli())/step.Milliseconds()] = at.F
			}
			lines = append(lines, l)
		}
		query.Close() // frees the memory of the matrix
	}
	return lines, nil
}

// steps is the number of points of a line.
func (s *Store) steps() int { return int(s.last.Sub(s.first)/step) + 1 }

// query is the query with Grafana's variables replaced; $rule matches all rules.
func (t Target) query() string {
	return strings.NewReplacer("$__rate_interval", rateInterval, "$rule", ".*").Replace(t.Query)
}

// title is the name of a line.
func (t Target) title(of labels.Labels) string {
	return regexp.MustCompile(`{{\s*(\w+)\s*}}`).ReplaceAllStringFunc(t.Legend, func(field string) string {
		return of.Get(strings.Trim(field, "{} "))
	})
}
