package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// caseFile reads one file of a case in testdata.
func caseFile(tb testing.TB, name, file string) string {
	tb.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == file {
			return string(f.Data)
		}
	}
	tb.Fatalf("%s has no %s", name, file)
	return ""
}

func mustCompile(tb testing.TB, source string) *program.Program {
	tb.Helper()
	programs, findings := compileAll("rule.yaml", []byte(source), testKinds{}.options())
	if len(programs) != 1 {
		tb.Fatal(findings)
	}
	return programs[0]
}

// BenchmarkEvaluate evaluates the rule of testdata/webapp (4 children, of
// which one is skipped, and a status) with live children, as a resync does.
func BenchmarkEvaluate(b *testing.B) {
	p := mustCompile(b, caseFile(b, "webapp", "rule.yaml"))
	parent := parse(b, caseFile(b, "webapp", "parent.yaml"))[0]
	parent.Object["spec"].(map[string]any)["maxReplicas"] = int64(5) //nolint:forcetypeassert // It is one.
	live := map[string][]*unstructured.Unstructured{}
	for _, o := range parse(b, caseFile(b, "webapp", "live.yaml")) {
		live[strings.ToLower(o.GetKind())] = []*unstructured.Unstructured{o}
	}
	in := program.Input{Parent: parent, Now: time.Unix(0, 0)}
	b.ReportAllocs()
	for b.Loop() {
		ev := p.Evaluate(b.Context(), in)
		for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
			for _, r := range batch {
				if objects, ok := live[r.Node]; ok {
					ev.Applied(r.Node, objects)
					continue
				}
				ev.Applied(r.Node, r.Objects)
			}
		}
		if out := ev.Result(); out.Status["available"] != int64(2) {
			b.Fatal(out)
		}
	}
}

// BenchmarkForEach evaluates one child for each of many items.
func BenchmarkForEach(b *testing.B) {
	p := mustCompile(b, caseFile(b, "for-each", "rule.yaml"))
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			parent := parse(b, caseFile(b, "for-each", "parent.yaml"))[0]
			ports := make([]any, n)
			for i := range ports {
				ports[i] = int64(i + 1)
			}
			parent.Object["spec"].(map[string]any)["ports"] = ports //nolint:forcetypeassert // It is one.
			b.ReportAllocs()
			for b.Loop() {
				ev := p.Evaluate(b.Context(), program.Input{Parent: parent})
				for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
					for _, r := range batch {
						ev.Applied(r.Node, r.Objects)
					}
				}
				ev.Result()
			}
		})
	}
}

// BenchmarkCompile decodes and compiles a rule, and tells how much memory the
// program holds on to.
func BenchmarkCompile(b *testing.B) {
	source := caseFile(b, "webapp", "rule.yaml")
	mustCompile(b, source) // the shared environment
	before := heap()
	var held []*program.Program
	b.ReportAllocs()
	for b.Loop() {
		held = append(held, mustCompile(b, source))
	}
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/float64(len(held))/1024, "KiB-live/rule")
	runtime.KeepAlive(held)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // A heap does not come near 2^63 bytes.
}

// parse reads objects from YAML documents.
func parse(tb testing.TB, text string) []*unstructured.Unstructured {
	tb.Helper()
	if strings.HasSuffix(text, ".yaml") {
		data, err := os.ReadFile(text)
		if err != nil {
			tb.Fatal(err)
		}
		text = string(data)
	}
	return objects(tb, text)
}
