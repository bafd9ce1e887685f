package rules

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/openapi/builtin"
)

// everyKind takes any kind for one that is there.
type everyKind struct{}

func (everyKind) Lookup(schema.GroupVersionKind) (Kind, bool) {
	return Kind{Namespaced: true, HasStatus: true}, true
}

// BenchmarkCompileTyped decodes and compiles the rule of examples/webapp for 50
// kinds, a thousand rules in all, with the schemas of all kinds in them, and tells
// the time and the memory that one rule takes; and without schemas, to compare.
func BenchmarkCompileTyped(b *testing.B) {
	const kinds, rules = 50, 1000
	dir := filepath.Join("..", "examples", "webapp")
	definition, sources := readFile(b, dir, "crd.yaml"), make([][]byte, kinds)
	native, err := builtin.Kinds()
	if err != nil {
		b.Fatal(err)
	}
	schemas, pool := maps.Clone(native), openapi.Pool{}
	for i := range kinds {
		name := fmt.Sprintf("Shop%d", i)
		own := strings.NewReplacer("WebApp", name, "webapp", strings.ToLower(name))
		crd := objects(b, own.Replace(definition))[0]
		defined, err := pool.FromCRD(crd)
		if err != nil {
			b.Fatal(err)
		}
		maps.Copy(schemas, defined)
		sources[i] = []byte(own.Replace(readFile(b, dir, "rule.yaml")))
	}
	for _, bench := range []struct {
		name string
		o    Options
	}{
		{"typed", Options{Kinds: everyKind{}, Schemas: schemas}},
		{"untyped", Options{Kinds: everyKind{}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			compile := func(n int) []*Program {
				held := make([]*Program, 0, n)
				for i := range n {
					programs, findings := compileAll("rule.yaml", sources[i%kinds], bench.o)
					if len(programs) != 1 || len(findings) > 0 {
						b.Fatal(findings)
					}
					held = append(held, programs...)
				}
				return held
			}
			compile(1) // the shared environment
			b.ReportAllocs()
			var live float64
			for b.Loop() {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				held := compile(rules)
				b.StopTimer()
				live = float64(heap()-before) / rules / 1024
				runtime.KeepAlive(held)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/rules, "µs/rule")
			b.ReportMetric(live, "KiB-live/rule")
		})
	}
}

func readFile(tb testing.TB, path ...string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
