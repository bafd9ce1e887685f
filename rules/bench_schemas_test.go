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

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// BenchmarkCompileMany decodes and compiles 1,000 rules of the size of the webapp
// example, over 50 kinds of parents with schemas, and tells how much memory the
// programs, and apart from them the schemas, hold on to.
func BenchmarkCompileMany(b *testing.B) {
	const ruleCount, kindCount = 1000, 50
	data, err := os.ReadFile(filepath.Join("..", "examples", "webapp", "rule.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	rule := string(data)
	mustCompile(b, caseFile(b, "webapp", "rule.yaml")) // the shared environment
	testKinds{}.Schema(objects(b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")[0].GroupVersionKind())
	before := heap()
	kinds := testKinds{defined: map[schema.GroupVersionKind]Kind{}, schemas: openapi.Kinds{}}
	var pool openapi.Pool
	for i := range kindCount {
		docs, _ := syntax.Decode("rule.yaml", []byte(strings.ReplaceAll(rule, "WebApp", fmt.Sprintf("WebApp%d", i))))
		made, err := pool.FromCRD(docs.CRDs[0])
		if err != nil {
			b.Fatal(err)
		}
		maps.Copy(kinds.schemas, made)
		for gvk := range made {
			kinds.defined[gvk] = Kind{Namespaced: true, HasStatus: true}
		}
	}
	schemas := heap() - before
	before = heap()
	held := make([]*program.Program, 0, ruleCount)
	b.ReportAllocs()
	for b.Loop() {
		held = held[:0]
		for i := range ruleCount {
			source := strings.ReplaceAll(rule, "WebApp", fmt.Sprintf("WebApp%d", i%kindCount))
			programs, findings := compileAll("rule.yaml", []byte(source), kinds.options())
			if len(programs) != 1 {
				b.Fatal(findings)
			}
			held = append(held, programs...)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/ruleCount/1024, "KiB-live/rule")
	b.ReportMetric(float64(schemas)/1024, "KiB-live/schemas")
	runtime.KeepAlive(held)
	runtime.KeepAlive(kinds)
}
