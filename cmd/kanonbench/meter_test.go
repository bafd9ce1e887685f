package main

import (
	"math"
	"testing"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

func TestBetween(t *testing.T) {
	begun := time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC)
	before := reading{
		at: begun, engine: time.Second, server: 10 * time.Second, ours: 13 * time.Second, busy: 100 * time.Second,
		Metrics: plane.Metrics{
			Counts:    plane.Counts{{Verb: "create", Resource: "configmaps"}: 5, {Verb: "list", Resource: "apps"}: 1},
			Allocated: 1e6,
		},
	}
	after := reading{
		at: begun.Add(10 * time.Second), engine: 3 * time.Second, server: 16 * time.Second, ours: 22 * time.Second, busy: 110 * time.Second,
		Metrics: plane.Metrics{
			Counts: plane.Counts{
				{Verb: "create", Resource: "configmaps"}: 15, {Verb: "patch", Resource: "apps/status"}: 10,
				{Verb: "list", Resource: "apps"}: 1, {Verb: "watch", Resource: "apps"}: 5,
			},
			Allocated: 3e6,
		},
	}
	sample := report.Sample{Values: between(before, after, 10)}
	for unit, want := range map[string]float64{
		report.CPU:          2,
		report.ServerCPU:    6,
		report.Allocated:    2e6,
		report.Strangers:    0.1, // 10 s busy, 9 of them ours, in 10 s
		report.Writes:       2,
		report.Reads:        0,
		report.AllWrites:    20,
		report.AllReads:     0,
		report.Watches:      5,
		"create:configmaps": 10,
		"patch:apps.status": 10,
		"watch:apps":        5,
	} {
		got, ok := sample.Value(unit)
		if !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v (%t), want %v", unit, got, ok, want)
		}
	}
	if n, ok := sample.Value("list:apps"); ok {
		t.Errorf("%v lists were counted that were there before", n)
	}
}

func TestKindsOfParents(t *testing.T) {
	for text, want := range map[string]map[string]app.Kind{
		"plain=1000": {"app-00007": 0, "single-00051": 0, canary: 0},
		"kinds=1000": {"app-00007": 7, "app-00051": 1, "single-00051": 1, canary: 49},
		"beside=100": {"app-00007": 0, quiet: 1, canary: 1},
	} {
		l, err := parseLoad(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, kind := range want {
			if got := l.kindOf(name); got != kind {
				t.Errorf("%s: %s is of %s, want %s", text, name, got, kind)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	good := func() Options {
		return Options{Kanon: "/proc/self/exe", ControlPlane: "/proc/self/exe", Loads: []string{"plain=100"}, Rounds: 1, Singles: 1, Rest: time.Second}
	}
	o := good()
	if err := o.validate(); err != nil {
		t.Errorf("good options are refused: %v", err)
	}
	for name, spoil := range map[string]func(*Options){
		"no load":         func(o *Options) { o.Loads = nil },
		"odd load":        func(o *Options) { o.Loads = []string{"odd=100"} },
		"one parent":      func(o *Options) { o.Loads = []string{"plain=100", "wide=1"} },
		"too few parents": func(o *Options) { o.Loads = []string{"kinds=49"} },
		"no number":       func(o *Options) { o.Loads = []string{"plain"} },
		"odd engine":      func(o *Options) { o.Engines = []string{"kanon", "other"} },
		"no rounds":       func(o *Options) { o.Rounds = 0 },
		"no singles":      func(o *Options) { o.Singles = 0 },
		"no rest":         func(o *Options) { o.Rest = 0 },
		"no kanon":        func(o *Options) { o.Kanon = "/nowhere/kanon" },
		"no controlplane": func(o *Options) { o.ControlPlane = "/nowhere/controlplane" },
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			spoil(&o)
			if o.validate() == nil {
				t.Error("they are accepted")
			}
		})
	}
}
