package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/internal/kanontest"
)

// BenchmarkCommands runs whole processes, as an editor or a CI job does, on a rule of the size of examples/webapp. A person does not
// notice less than 150 ms, and 200 cases of a test take less than a second. cpu-ms/op is the time of processors, which does not depend
// on what else the machine does.
func BenchmarkCommands(b *testing.B) {
	program := kanontest.Binary(b)
	for _, command := range []struct {
		name, dir string
		args      []string
	}{
		{"version", "../../examples/webapp", []string{"version"}},
		{"validate", "../../examples/webapp", []string{"validate", "rule.yaml"}},
		{"render", "../../examples/webapp", []string{"render", "rule.yaml", "parent.yaml"}},
		{"test", "../../examples/webapp", []string{"test", "rule_test.yaml"}},
		{"test-200-cases", manyCases(b), []string{"test", "rule_test.yaml"}},
	} {
		b.Run(command.name, func(b *testing.B) {
			var busy time.Duration
			for b.Loop() {
				run := exec.CommandContext(b.Context(), program, command.args...)
				run.Dir = command.dir
				if out, err := run.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				busy += run.ProcessState.UserTime() + run.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(busy.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// manyCases is a directory with the rule of examples/webapp and a test with 200 cases.
func manyCases(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/webapp")); err != nil {
		b.Fatal(err)
	}
	var cases strings.Builder
	cases.WriteString("apiVersion: kanon.dev/v1alpha1\nkind: RuleTest\nrule: rule.yaml\nparent: parent.yaml\ncases:\n")
	for i := range 200 {
		fmt.Fprintf(&cases, "- {name: case-%d, steps: [{ready: [deployment], expect: {conditions: {Ready: \"True\"}}}]}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "rule_test.yaml"), []byte(cases.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}
