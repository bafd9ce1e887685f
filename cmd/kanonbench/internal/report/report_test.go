package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// example is a run of two rounds, with a phase that the operator was not in.
func example() *Run {
	load := Load{Parents: 1000, Children: 3}
	sample := func(phase Phase, engine string, values ...Value) Sample {
		return Sample{Phase: phase, Engine: engine, Load: load, Values: values}
	}
	return &Run{
		Circumstances: []Circumstance{
			{KeyDate, "2026-03-05"}, {KeyMachine, "a machine, 2 processors"}, {KeyKanon, "v1"},
		},
		Samples: []Sample{
			sample(New, Operator, Value{Time, 4}, Value{Writes, 4}, Value{"create:configmaps", 1000}, Value{Strangers, 0.01}),
			sample(New, Kanon, Value{Time, 3}, Value{Writes, 6}, Value{"create:configmaps", 1000}, Value{Strangers, 0.03}),
			sample(Rest, Kanon, Value{Requests, 0}),
			sample(New, Kanon, Value{Time, 5}, Value{Writes, 6}, Value{"patch:apps.status", 1000}),
			sample(New, Operator, Value{Time, 4}, Value{Writes, 4}),
			sample(Rest, Kanon, Value{Requests, 2}),
		},
	}
}

// loads is a run with several loads: one ratio grows with the number of parents, one
// does not, and large children cost the operator by hand what they are.
func loads() *Run {
	run := new(Run)
	add := func(load Load, phase Phase, unit string, byHand, kanon float64) {
		for _, noise := range []float64{0.99, 1, 1.01} {
			run.Samples = append(run.Samples,
				Sample{Phase: phase, Engine: Operator, Load: load, Values: []Value{{unit, byHand}}},
				Sample{Phase: phase, Engine: Kanon, Load: load, Values: []Value{{unit, kanon * noise}}})
		}
	}
	few, many := Load{Parents: 1000, Children: 3}, Load{Parents: 20000, Children: 3}
	add(many, New, Time, 100, 91)
	add(many, Change, Time, 80, 80)
	add(few, New, Time, 5, 4.5)
	add(few, Change, Time, 4, 3)
	add(few, Restart, Resident, 50<<20, 30<<20)
	large := few
	large.Size = 1_000_000
	add(large, Restart, Resident, 1050<<20, 31<<20)
	add(Load{Parents: 500, Children: 3, Kinds: 50}, New, Time, 5, 5)
	for _, patch := range []string{"own", "shared", "selected"} {
		add(Load{Parents: 1000, Patch: patch}, New, Writes, 2, 1)
		add(Load{Parents: 1000, Patch: patch}, Change, Time, 2, 1)
		add(Load{Parents: 20000, Patch: patch}, Change, Time, 40, 30)
	}
	return run
}

func TestGolden(t *testing.T) {
	for name, show := range map[string]func() string{
		"table.md":    func() string { return Tables(example()) },
		"requests.md": func() string { return RequestTables(example()) },
		"loads.md":    func() string { return Tables(loads()) },
		"results.txt": func() string {
			var out bytes.Buffer
			if err := Write(&out, example()); err != nil {
				t.Fatal(err)
			}
			return out.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := show()
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestReadWhatIsWritten(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, example()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&text, "results")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("read (-written +read):\n%s", diff)
	}
}

func TestReadLoads(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, loads()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&text, "results")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loads(), got); diff != "" {
		t.Errorf("read (-written +read):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"no number":        "BenchmarkNew/engine=kanon/parents=many/children=3 1 2 sec/op\n",
		"of another kind":  "BenchmarkOther-2 1 2 ns/op\n",
		"a broken line":    "BenchmarkNew/engine=kanon/parents=1 1 two sec/op\n",
		"only its setting": "date: 2026-03-05\n",
	} {
		t.Run(name, func(t *testing.T) {
			if run, err := Read(strings.NewReader(text), "results"); err == nil {
				t.Errorf("it was read as %+v", run)
			}
		})
	}
}
