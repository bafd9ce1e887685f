package manager

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

// A start has all processors, and what follows has half of them, unless the environment says otherwise. A standby has all
// of them until it leads and has compared everything. Nothing runs beside this test: the settings are those of the process.
func TestTuneRuntime(t *testing.T) {
	const available, ownPercent = 4, 150
	for name, test := range map[string]struct {
		procs, percent      string
		ended, standsBy     bool
		neverLeads          bool
		wantProcs, wantGOGC int
	}{
		"by default":                 {wantProcs: 2, wantGOGC: gcPercent},
		"processors are set":         {procs: "4", wantProcs: available, wantGOGC: gcPercent},
		"collections are set":        {percent: "150", wantProcs: 2, wantGOGC: ownPercent},
		"it stands by at first":      {standsBy: true, wantProcs: 2, wantGOGC: gcPercent},
		"it ends before it leads":    {standsBy: true, neverLeads: true, wantProcs: available, wantGOGC: gcPercent},
		"it ends before it was idle": {ended: true, wantProcs: available, wantGOGC: gcPercent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", test.procs)
			t.Setenv("GOGC", test.percent)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(available))
			defer debug.SetGCPercent(debug.SetGCPercent(ownPercent))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			checks := 0
			var leading chan struct{}
			if test.standsBy {
				leading = make(chan struct{})
			}
			tuneRuntime(ctx, leading, func() bool {
				if checks++; test.ended {
					cancel()
				}
				switch {
				case checks != 3 || !test.standsBy:
				case test.neverLeads:
					cancel()
				default:
					close(leading)
				}
				if got := runtime.GOMAXPROCS(0); got != available {
					t.Errorf("before it is idle, it has %d processors of %d", got, available)
				}
				return checks%3 == 0 && !test.ended
			})
			if test.standsBy && !test.neverLeads && checks != 6 {
				t.Errorf("it asked %d times whether the engine is idle, want 3 before it leads and 3 after", checks)
			}
			if got := runtime.GOMAXPROCS(0); got != test.wantProcs {
				t.Errorf("it has %d processors, want %d", got, test.wantProcs)
			}
			if got := debug.SetGCPercent(ownPercent); got != test.wantGOGC {
				t.Errorf("GOGC is %d, want %d", got, test.wantGOGC)
			}
		})
	}
}

func TestProcessors(t *testing.T) {
	t.Parallel()
	for available, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 64: 32} {
		if got := processors(available); got != want {
			t.Errorf("%d of %d processors, want %d", got, available, want)
		}
	}
}
