package telemetry_test

import (
	"net/http"
	"testing"

	"kanon.dev/kanon/engine/telemetry"
)

type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }

// Without a tracer nothing is allocated.
func TestNothingIsAllocated(t *testing.T) {
	ctx := t.Context()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := telemetry.Transport(answers{})
	if n := testing.AllocsPerRun(100, func() {
		inside, end := telemetry.Root(ctx, nil, "reconcile")
		_, endEvaluation := telemetry.Start(inside, "evaluate")
		endEvaluation(nil)
		telemetry.Describe(inside, "kanon.verdict", "settled")
		_, _ = transport.RoundTrip(request)
		end(nil)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		inside, end := telemetry.Root(ctx, nil, "reconcile")
		_, endEvaluation := telemetry.Start(inside, "evaluate")
		endEvaluation(nil)
		end(nil)
	}
}
