package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// binary is a program of the product, which `make build` builds.
func binary(t *testing.T, name, variable string) string {
	t.Helper()
	if path := os.Getenv(variable); variable != "" && path != "" {
		return path
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; build it with `make build`", err)
	}
	return path
}

// TestRequestsOfKanon holds Kanon to the requests that it has to send, and not one
// more: in each phase those of the children that differ, and of the status.
func TestRequestsOfKanon(t *testing.T) {
	const parents, singles = 120, 3 // so many that informers pack texts: see wire.Packer
	got, said := measure(t, "plain", parents, singles)
	firsts := func(n float64) map[string]float64 {
		return map[string]float64{"create:configmaps": n, "create:services": n, "create:deployments": n, "patch:apps.status": n}
	}
	restart := firsts(1)           // of the canary
	restart["list:configmaps"] = 1 // the records of rules
	want := map[report.Phase]map[string]float64{
		report.New:     firsts(parents),
		report.Change:  {"update:configmaps": parents, "update:deployments": parents},
		report.Drift:   {"update:configmaps": parents / 2, "update:deployments": parents / 2},
		report.Rest:    {},
		report.Restart: restart,
		report.One:     firsts(singles),
		report.Delete:  {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s\nKanon said:\n%s", diff, said)
	}
}

// TestRequestsOfPatches holds Kanon to one request for each object that a patch is for
// and that differs, however many parents have a part of it, and to none at rest.
func TestRequestsOfPatches(t *testing.T) {
	const objects, singles = 30, 3
	for _, name := range []string{"own", "selected"} {
		t.Run(name, func(t *testing.T) {
			got, said := measure(t, name, objects, singles)
			patches := func(n float64) map[string]float64 { return map[string]float64{"patch:configmaps": n} }
			want := map[report.Phase]map[string]float64{
				report.New: patches(objects), report.Change: patches(objects), report.Rest: {},
				report.Restart: {"patch:configmaps": 1, "list:configmaps": 1},
				report.One:     patches(singles), report.Delete: patches(objects + singles),
			}
			if name == "selected" { // of a selector, those that left it meanwhile are looked for, too
				if lists := got[report.Restart]["list:configmaps"]; lists > 3 {
					t.Errorf("a restart lists ConfigMaps %v times", lists)
				}
				delete(want[report.Restart], "list:configmaps")
				delete(got[report.Restart], "list:configmaps")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s\nKanon said:\n%s", diff, said)
			}
		})
	}
	t.Run("shared", func(t *testing.T) {
		got, said := measure(t, "shared", objects, singles)
		for phase, requests := range got {
			most := map[report.Phase]float64{
				report.New: objects, report.Change: objects, report.Restart: 1, report.One: singles, report.Delete: objects + singles,
			}[phase]
			delete(requests, "list:configmaps")
			if requests["patch:configmaps"] > most || len(requests) > 1 || requests["patch:configmaps"] < min(1, most) {
				t.Errorf("phase %s: requests %v, want %v patches at the most\nKanon said:\n%s", phase, requests, most, said)
			}
		}
	})
}

// measure takes Kanon through all phases of a load, and returns the requests that it sent
// in each, and what it said.
func measure(t *testing.T, name string, parents, singles int) (got map[report.Phase]map[string]float64, said *strings.Builder) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	log := new(strings.Builder)
	p, err := plane.Start(ctx, plane.Options{Binary: binary(t, "controlplane", controlPlaneVariable), Dir: dir, Log: log})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	w, err := plane.NewWorld(p.Config, plane.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	what := plans()[name]
	what.Parents = parents
	w.Patches(app.Patch(what.Patch))
	unwatch, err := w.Watch(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer unwatch() //nolint:errcheck // the test's context ends it

	rule := filepath.Join(dir, "rule.yaml")
	text, err := what.rules()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rule, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kanon, err := newEngine(report.Kanon, &Options{Kanon: binary(t, "kanon", "")}, p.EngineKubeconfig, rule, what)
	if err != nil {
		t.Fatal(err)
	}
	said = new(strings.Builder)
	r := &runner{
		plane: p, world: w, engine: kanon, load: what, singles: singles, restFor: time.Second, log: said,
	}
	if err := errors.Join(r.inOrder(ctx, what.plan(r)), r.stop()); err != nil {
		t.Fatalf("%v\nKanon said:\n%s", err, said)
	}
	got = make(map[report.Phase]map[string]float64)
	for _, sample := range r.samples {
		got[sample.Phase] = requestsOf(sample)
		made := map[report.Phase]int{report.New: parents, report.Restart: 1, report.One: singles}[sample.Phase]
		if events := eventsOf(sample); events > float64(made) {
			t.Errorf("phase %s: %v requests for Events, want one for each of %v new parents at the most", sample.Phase, events, made)
		}
	}
	return got, said
}

// eventsOf is how many Events were written.
func eventsOf(sample report.Sample) (n float64) {
	for _, value := range sample.Values {
		if _, resource, isCount := strings.Cut(value.Unit, ":"); isCount && resource == "events" {
			n += value.Number
		}
	}
	return n
}

// requestsOf are a sample's requests. Watches are left out, because the API server
// ends them when it likes, and so are Events: see eventsOf.
// So are paths such as /openapi/v3, which are read again for some time after a definition
// was made. At a start it is asked which definitions there are, but not later.
func requestsOf(sample report.Sample) map[string]float64 {
	requests := make(map[string]float64)
	for _, value := range sample.Values {
		verb, resource, isCount := strings.Cut(value.Unit, ":")
		switch {
		case !isCount, verb == "watch", resource == "events", resource == plane.NonResources:
		case sample.Phase == report.Restart && resource == plane.OtherResources:
		default:
			requests[value.Unit] = value.Number
		}
	}
	return requests
}
