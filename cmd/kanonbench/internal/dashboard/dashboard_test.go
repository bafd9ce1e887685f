package dashboard

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// fixed is a store of a minute: a counter that grows in steps, a gauge with a gap, and a histogram.
func fixed(t *testing.T) *Store {
	t.Helper()
	store := NewStore(map[string]string{"job": "kanon", "pod": "kanon-0"})
	begin := time.Unix(1_700_000_000, 0)
	for second := range 61 {
		var text strings.Builder
		fmt.Fprintf(&text, "# TYPE writes_total counter\nwrites_total{verb=\"create\"} %d\nwrites_total{verb=\"apply\"} %d\n", 10*min(second, 30), 5*max(0, second-30))
		if second < 20 || second > 40 {
			fmt.Fprintf(&text, "# TYPE memory_bytes gauge\nmemory_bytes %d\n", (40+second)<<20)
		}
		fmt.Fprintf(&text, "# TYPE duration_seconds histogram\nduration_seconds_bucket{le=\"0.001\"} %d\nduration_seconds_bucket{le=\"0.01\"} %d\n"+
			"duration_seconds_bucket{le=\"+Inf\"} %d\nduration_seconds_sum %g\nduration_seconds_count %d\n", 8*second, 10*second, 10*second, 0.02*float64(second), 10*second)
		if err := store.Add(begin.Add(time.Duration(second)*time.Second), strings.NewReader(text.String())); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

const board = `{"title": "Board", "panels": [
  {"title": "Writes", "type": "timeseries", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
   "fieldConfig": {"defaults": {"unit": "reqps", "custom": {"stacking": {"mode": "normal"}}}},
   "targets": [{"expr": "sum by (verb) (rate(writes_total{job=~\".*kanon.*\"}[$__rate_interval]))", "legendFormat": "{{verb}} & <more>"}]},
  {"title": "Memory", "type": "timeseries", "gridPos": {"x": 12, "y": 0, "w": 12, "h": 8}, "fieldConfig": {"defaults": {"unit": "bytes"}},
   "targets": [{"expr": "memory_bytes", "legendFormat": "{{pod}} resident"}]},
  {"title": "Duration", "type": "timeseries", "gridPos": {"x": 0, "y": 8, "w": 12, "h": 8}, "fieldConfig": {"defaults": {"unit": "s"}},
   "targets": [{"expr": "histogram_quantile(0.5, sum by (le) (rate(duration_seconds_bucket[$__rate_interval])))", "legendFormat": "p50"}]},
  {"title": "Findings", "type": "timeseries", "gridPos": {"x": 12, "y": 8, "w": 12, "h": 8}, "fieldConfig": {"defaults": {"unit": "short"}},
   "targets": [{"expr": "findings > 0", "legendFormat": "{{rule}}"}]}]}`

func TestDraw(t *testing.T) {
	b, err := Read(strings.NewReader(board))
	if err != nil {
		t.Fatal(err)
	}
	store := fixed(t)
	var got bytes.Buffer
	marks := []Mark{{At: store.first.Add(10 * time.Second), Title: "new parents"}, {At: store.first.Add(30 * time.Second), Title: "change"}}
	if err := b.Draw(t.Context(), &got, store, Options{Subtitle: "a minute", Marks: marks}); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/board.svg"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the picture (-want +got):\n%s", diff)
	}
}

// Every panel of the dashboard that is installed can be drawn, and its queries evaluated.
func TestInstalledDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Draw(t.Context(), &bytes.Buffer{}, fixed(t), Options{}); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no JSON":   {"panels", "read dashboard"},
		"no panels": {"{}", "no panels"},
		"a table":   {strings.Replace(board, `"timeseries"`, `"table"`, 1), `type "table"`},
		"a unit":    {strings.Replace(board, `"reqps"`, `"furlongs"`, 1), `unit "furlongs"`},
		"no place":  {strings.Replace(board, `"x": 12`, `"x": 20`, 1), "no place"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestAxis(t *testing.T) {
	for _, test := range []struct {
		unit    string
		highest float64
		want    []string
	}{
		{"short", 3, []string{"0", "1", "2", "3"}},
		{"short", 12_000, []string{"0", "5k", "10k", "15k"}},
		{"reqps", 0.9, []string{"0.00/s", "0.25/s", "0.50/s", "0.75/s", "1.00/s"}},
		{"bytes", 90 << 20, []string{"0 B", "25 MiB", "50 MiB", "75 MiB", "100 MiB"}},
		{"s", 0.0042, []string{"0 s", "2 ms", "4 ms", "6 ms"}},
	} {
		base := 1000.0
		if test.unit == "bytes" {
			base = 1024
		}
		apart, last := ticksUpTo(test.highest, base)
		var got []string
		for v := 0.0; v <= last*(1+1e-9); v += apart {
			got = append(got, formats[test.unit](v, apart))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%g %s (-want +got):\n%s", test.highest, test.unit, diff)
		}
	}
}
