package main

import (
	"os/exec"
	"testing"

	"kanon.dev/kanon/internal/kanontest"
)

// BenchmarkCommands runs whole processes, as an editor or a CI job does, on a rule of the size of examples/webapp. A person does not
// notice less than 150 ms.
func BenchmarkCommands(b *testing.B) {
	program := kanontest.Binary(b)
	for name, args := range map[string][]string{
		"version":  {"version"},
		"validate": {"validate", "rule.yaml"},
		"render":   {"render", "rule.yaml", "parent.yaml"},
		"test":     {"test", "rule_test.yaml"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				command := exec.CommandContext(b.Context(), program, args...)
				command.Dir = "../../examples/webapp"
				if out, err := command.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
