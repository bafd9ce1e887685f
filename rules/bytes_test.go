package rules

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// TestSameBytes holds of every case in testdata: compiled and evaluated again, it
// gives the same findings, the same objects in the same order, and the same outcome,
// byte by byte.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for name, files := range casesIn(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := caseBytes(t, files)
			if again := caseBytes(t, files); again != first {
				t.Fatalf("this:\n%s\nand then this:\n%s", first, again)
			}
		})
	}
}

// caseBytes is all that comes of a case.
func caseBytes(t *testing.T, files map[string]string) string {
	t.Helper()
	programs, findings := compileCase(t, files)
	all := []any{findings}
	for _, p := range programs {
		if files["parent.yaml"] == "" {
			continue
		}
		ev := p.Evaluate(t.Context(), program.Input{
			Parent: objects(t, files["parent.yaml"])[0],
			Now:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Reader: readerOf(t, files),
		})
		if ok, err := ev.Matches(); !ok || err != nil {
			all = append(all, ok, err)
			continue
		}
		for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
			all = append(all, batch)
			for _, r := range batch {
				live := make([]*unstructured.Unstructured, len(r.Objects))
				for i, o := range r.Objects {
					live[i] = liveObject(t, o, files)
				}
				ev.Applied(r.Node, live)
			}
		}
		all = append(all, ev.Result(), p.Drifts, p.Children, p.ReadsStatus)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
