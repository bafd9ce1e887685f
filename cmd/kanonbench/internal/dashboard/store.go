package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Store has scraped metrics in memory. It implements storage.Queryable. It is not safe for concurrent use.
type Store struct {
	target      map[string]string // the labels of the scrape target
	series      map[string]*series
	first, last time.Time
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample // sorted by time
}

// NewStore makes an empty Store. target are the labels that Prometheus adds for a scrape target.
func NewStore(target map[string]string) *Store {
	return &Store{target: target, series: make(map[string]*series)}
}

// Add adds the metrics scraped at a time, in Prometheus' text format. Times must increase.
func (s *Store) Add(at time.Time, text io.Reader) error {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	if s.first.IsZero() {
		s.first = at
	}
	s.last = at
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())},
		slices.Collect(maps.Values[map[string]*dto.MetricFamily](families))...)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	for _, sample := range samples {
		named := maps.Clone(s.target)
		for name, value := range sample.Metric {
			named[string(name)] = string(value)
		}
		of := labels.FromMap(named)
		known := s.series[of.String()]
		if known == nil {
			known = &series{labels: of}
			s.series[of.String()] = known
		}
		known.samples = append(known.samples, point{at.UnixMilli(), float64(sample.Value)})
	}
	return nil
}

// Querier implements storage.Queryable.
func (s *Store) Querier(from, to int64) (storage.Querier, error) {
	return querier{s, from, to}, nil
}

// querier reads a Store within a time range, in milliseconds.
type querier struct {
	store    *Store
	from, to int64
}

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, name := range slices.Sorted(maps.Keys(q.store.series)) {
		of := q.store.series[name]
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(of.labels.Get(m.Name)) }) {
			continue
		}
		in := slices.DeleteFunc(slices.Clone(of.samples), func(p chunks.Sample) bool { return p.T() < q.from || p.T() > q.to })
		found.left = append(found.left, storage.NewListSeries(of.labels, in))
	}
	return found
}

func (q querier) Close() error { return nil }

// errNotStored is returned by methods that the engine does not call.
var errNotStored = errors.New("only series are stored")

func (q querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNotStored
}

func (q querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNotStored
}

// seriesSet iterates over series.
type seriesSet struct {
	left []storage.Series
	at   storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.at }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// point is a value at a time, in milliseconds.
type point struct {
	at    int64
	value float64
}

func (p point) T() int64                      { return p.at }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
